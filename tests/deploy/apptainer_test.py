#!/usr/bin/env python3
"""deploy/apptainer: definition files against Apptainer's format and the Dockerfiles of deploy/images, whose pins they share. They are not built
here: Debian 12 has no apptainer.

    apptainer_test.py --sources DIR --build DIR SUITE      exit status 77: skipped, with the reason
"""
import re
import subprocess
import sys
import unittest

import suites

SECTIONS = {"setup", "files", "environment", "post", "runscript", "startscript", "test", "labels", "help"}
PACKAGE = "build/package/"


def stages(text):
    """One {"header": {…}, section: text, …} for each stage; "files from X" is a section of its own."""
    found, section = [], None
    for line in text.splitlines():
        if line.startswith("Bootstrap:"):
            found.append({"header": {}})
            section = None
        if line.startswith("%"):
            section = line[1:].strip()
            found[-1][section] = ""
        elif section is not None:
            found[-1][section] += line + "\n"
        elif line.strip():
            name, _, value = line.partition(":")
            found[-1]["header"][name] = value.strip()
    return found


def sources(stage):
    """What %files copies from this checkout."""
    return [line.split()[0] for line in stage.get("files", "").splitlines() if line.strip()]


def problems(text, dockerfiles, checkout):
    """What would not build, or would build something else than the images are."""
    parts = stages(text)
    names = [stage["header"].get("Stage") for stage in parts]
    for number, stage in enumerate(parts):
        header = stage["header"]
        if header.get("Bootstrap") != "docker" or f"={header.get('From')}\n" not in dockerfiles:
            yield f"the base {header.get('From')} is none of the Dockerfiles'"
        for section in stage:
            kind = section.split()[0]
            if kind not in SECTIONS | {"header"}:
                yield f"no such section: %{section}"
            if section.startswith("files from") and section.split()[2] not in names[:number]:
                yield f"%{section}: there is no such stage before"
        for section in ("post", "environment", "runscript", "test"):
            ran = subprocess.run(["sh", "-n"], input=stage.get(section, ""), capture_output=True, text=True)
            if ran.returncode != 0:
                yield f"%{section}: {ran.stderr}"
        for line in stage.get("post", "").splitlines():
            if "apt-get install" in line:
                for word in line.partition("--no-install-recommends")[2].split():
                    if "=" not in word or word not in dockerfiles:
                        yield f"the package {word} is not pinned as in the Dockerfiles"
            if "pip install" in line and not ("--require-hashes" in line and "--no-deps" in line):
                yield "pip install without --require-hashes and --no-deps"
            if re.search(r"\b(curl|wget|git clone)\b", line):
                yield f"fetches: {line.strip()}"
        for path in sources(stage):
            # What the package holds is the images' test; here it must be what an image holds, too.
            known = f"{path} " in dockerfiles if path.startswith(PACKAGE) else (checkout / path).exists()
            if not known:
                yield f"copies {path}, which is not there"
    if not parts or "exec " not in parts[-1].get("runscript", "") or "help" not in parts[-1]:
        yield "the last stage has no %runscript or no %help"


class DefinitionsTest(unittest.TestCase):
    def setUp(self):
        folder = ARGUMENTS.sources / "deploy/images"
        self.dockerfiles = "".join(path.read_text() + "\n" for path in folder.glob("*.Dockerfile"))

    def found(self, text):
        return list(problems(text, self.dockerfiles, ARGUMENTS.sources))

    def test_definitions_are_what_the_images_are(self):
        names = sorted(path.stem for path in (ARGUMENTS.sources / "deploy/apptainer").glob("*.def"))
        self.assertEqual(names, ["agent", "service"])
        for name in names:
            self.assertEqual(self.found((ARGUMENTS.sources / f"deploy/apptainer/{name}.def").read_text()), [], name)

    def test_what_is_wrong_is_found(self):
        text = (ARGUMENTS.sources / "deploy/apptainer/agent.def").read_text()
        for before, after in (("@sha256:37", "@sha256:73"), ("%runscript", "%runscripts"), ("files from cuda", "files from gone"),
                              ("g++-12=12.2.0-14", "g++-12=12.2.0-15"), ("--require-hashes ", ""), ("bin/mini-ptx-agent /opt", "bin/absent /opt"),
                              ("    cd /wheels", "    if cd /wheels"), ("    cd /wheels", "    curl example.org")):
            self.assertNotEqual(self.found(text.replace(before, after, 1)), [], after)


if __name__ == "__main__":
    sys.exit(suites.main(sys.modules[__name__], ["DefinitionsTest"], {}))
