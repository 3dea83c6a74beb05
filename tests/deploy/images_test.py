#!/usr/bin/env python3
"""deploy/images: Dockerfiles against hadolint's rules and ours, and against the package that they are made of.

    images_test.py --sources DIR --build DIR SUITE      exit status 77: skipped, with the reason
"""
import fnmatch
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import suites

PACKAGE = "build/package/"
FILES = {"frontend", "node", "builder", "agent"}


def dockerfiles():
    return {p.name.split(".")[0]: p.read_text() for p in (ARGUMENTS.sources / "deploy/images").glob("*.Dockerfile")}


def instructions(text):
    """(instruction, value) of each."""
    from dockerfile_parse import DockerfileParser
    with tempfile.TemporaryDirectory() as folder:
        parser = DockerfileParser(path=folder)
        parser.content = text
        return [(i["instruction"], i["value"]) for i in parser.structure if i["instruction"] != "COMMENT"]


def problems(text):
    """What our rules say: pinned, nobody in particular, nothing fetched by the builder, a program of ours to start."""
    steps = instructions(text)
    bases = {v.split("=")[0]: v.split("=", 1)[1] for i, v in steps if i == "ARG" and "=" in v}
    for base in (v.split()[0] for i, v in steps if i == "FROM"):
        named = re.fullmatch(r"\$\{(\w+)\}", base)
        image = bases.get(named.group(1), "") if named else base
        if not re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image):
            yield f"the base {base} is not pinned: {image}"
    if any(i == "ADD" for i, _ in steps):
        yield "ADD fetches or unpacks; COPY does not"
    users = [v for i, v in steps if i == "USER"]
    if not users or re.match(r"(0|root)(:|$)", users[-1]) or steps.index(("USER", users[-1])) < max(n for n, s in enumerate(steps) if s[0] == "FROM"):
        yield "runs as root"
    for run in (v for i, v in steps if i == "RUN"):
        for package in re.findall(r"apt-get install -y --no-install-recommends (.*?)(?:&&|$)", run, re.S):
            for word in package.replace("\\", " ").split():
                if "=" not in word:
                    yield f"the package {word} is not pinned"
        if "pip install" in run and not ("--require-hashes" in run and "--no-deps" in run):
            yield "pip install without --require-hashes and --no-deps"
        if re.search(r"\b(curl|wget|git clone)\b", run):
            yield f"fetches: {run}"
    if any(i == "ENV" and re.search(r"(?i)(token|password|secret)", v) for i, v in steps):
        yield "a secret in the image"
    if not any(i == "ENTRYPOINT" and v.startswith("[") for i, v in steps):
        yield "no ENTRYPOINT without a shell"


def copied(text):
    """Sources of COPY from the context."""
    for instruction, value in instructions(text):
        words = value.split()
        if instruction == "COPY" and not words[0].startswith("--from"):
            yield from words[:-1]


GOOD = ("ARG BASE=debian:bookworm-slim@sha256:" + "0" * 64 + "\nFROM ${BASE}\nRUN apt-get install -y --no-install-recommends tini=1\n"
        "USER 10001\nENTRYPOINT [\"x\"]\n")
BREAKS = [("debian:bookworm-slim@sha256:" + "0" * 64, "debian:bookworm-slim"), ("FROM ${BASE}", "FROM debian:bookworm"),
          ("USER 10001", "USER root"), ("USER 10001\n", ""), ("USER 10001", "USER 10001\nFROM ${BASE}"), ("USER 10001", "ADD https://x.org/y /y\nUSER 10001"),
          ("tini=1", "tini"), ("USER 10001", "RUN pip install x==1\nUSER 10001"), ("USER 10001", "RUN curl https://x.org\nUSER 10001"),
          ("USER 10001", "ENV API_TOKEN=x\nUSER 10001"), ('ENTRYPOINT ["x"]', "ENTRYPOINT x")]


class DockerfilesTest(unittest.TestCase):
    def test_there_is_one_for_each_role(self):
        self.assertEqual(set(dockerfiles()), FILES)

    def test_our_rules_hold(self):
        for name, text in dockerfiles().items():
            self.assertEqual(list(problems(text)), [], name)

    def test_each_rule_notices_what_it_is_for(self):
        self.assertEqual(list(problems(GOOD)), [])
        for old, new in BREAKS:
            with self.subTest(new=new):
                self.assertNotEqual(GOOD.replace(old, new), GOOD)
                self.assertTrue(list(problems(GOOD.replace(old, new))))

    def test_hadolint_finds_nothing(self):
        program = pathlib.Path(sys.executable).parent / "hadolint"
        if not program.exists():
            self.skipTest("there is no hadolint; deploy/install_dependencies.sh brings it")
        for name in FILES:
            ran = subprocess.run([str(program), str(ARGUMENTS.sources / f"deploy/images/{name}.Dockerfile")], capture_output=True, text=True)
            self.assertEqual((ran.returncode, ran.stdout), (0, ""), name)
        ran = subprocess.run([str(program), "-"], input="FROM debian\nRUN cd /tmp\n", capture_output=True, text=True)
        self.assertNotEqual(ran.returncode, 0)

    def test_wheels_have_the_versions_that_are_tested_here(self):
        installed = (ARGUMENTS.sources / "deploy/install_dependencies.sh").read_text()
        for path in (ARGUMENTS.sources / "deploy/images").glob("*.txt"):
            for line in path.read_text().splitlines():
                if line.startswith("#"):
                    continue
                wheel, _, checksum = line.partition(" ")
                self.assertRegex(checksum, r"^--hash=sha256:[0-9a-f]{64}$")
                # compute-sanitizer is not needed to build or test.
                if not wheel.startswith("nvidia-cuda-sanitizer-api=="):
                    self.assertIn(wheel, installed)

    def test_the_context_has_what_is_copied_and_no_more(self):
        rules = [line for line in (ARGUMENTS.sources / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
        for text in dockerfiles().values():
            for path in copied(text):
                self.assertTrue(in_context(rules, path), path)
        for path in (".git/config", ".venv/bin/python", "build/dev/bin/profiler-service", "deploy/compose/secrets/ca.key", "README.md"):
            self.assertFalse(in_context(rules, path), path)


def in_context(rules, path):
    """By the documented rule: the last one that fits the path or a folder above it decides."""
    parts = path.rstrip("/").split("/")
    ways = ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]
    inside = True
    for rule in rules:
        if any(fnmatch.fnmatchcase(way, rule.lstrip("!")) and way.count("/") == rule.count("/") for way in ways):
            inside = rule.startswith("!")
    return inside


class PackageTest(unittest.TestCase):
    def test_every_path_that_is_copied_is_in_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run(["cmake", "--install", str(ARGUMENTS.build), "--prefix", folder], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            for name, text in dockerfiles().items():
                for path in copied(text):
                    place = pathlib.Path(folder) / path[len(PACKAGE):] if path.startswith(PACKAGE) else ARGUMENTS.sources / path
                    self.assertTrue(place.exists(), f"{name}: {path}")
            self.assertFalse((pathlib.Path(folder) / "bin/no-such-program").exists())


if __name__ == "__main__":
    sys.exit(suites.main(sys.modules[__name__], ["DockerfilesTest", "PackageTest"],
                         dict.fromkeys(["DockerfilesTest", "PackageTest"], ("dockerfile_parse", "dockerfile-parse"))))
