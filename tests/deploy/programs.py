"""Command lines in files of deploy/ against the --help of the programs that they start."""
import re
import subprocess


def flag(arguments, wanted):
    return next((a.split("=", 1)[1] for a in arguments if a.startswith(wanted + "=")), None)


def invocations(commands):
    """((program, subcommand…), its flags) of command lines; what follows a bare `--` is a command line of its own."""
    for words in commands:
        parts = [[]]
        for word in words:
            parts.append([]) if word == "--" else parts[-1].append(word)
        for part in parts:
            subcommands = tuple(w for w in part[1:] if not w.startswith("-"))
            yield (part[0], *subcommands), {w.split("=")[0] for w in part[1:] if w.startswith("--")}


def flags_of(folder, program):
    """Also those of the program when a subcommand is given: they may stand behind it."""
    known = set()
    for words in {program, program[:1]}:
        ran = subprocess.run([str(folder / words[0]), *words[1:], "--help"], capture_output=True, text=True)
        if ran.returncode != 0:
            raise AssertionError(f"{' '.join(words)} --help: {ran.stderr}")
        known |= set(re.findall(r"(?<![\w-])--[\w-]+", ran.stdout))
    return known
