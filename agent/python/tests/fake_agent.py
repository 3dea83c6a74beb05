#!/usr/bin/env python3
"""An agent that speaks `batch` and judges by the text of a source: for tests of what stands between."""
import json
import sys

VERDICTS = {"right": {"status": "CORRECT", "scorable": True}, "wrong": {"status": "INCORRECT_NUMERICAL", "code": "MISMATCH"},
            "infra": {"status": "INFRA_ERROR"}}


def main():
    waiting = {}

    def answer(name, line, **what):
        print(json.dumps({"id": name, "line": line, **what}), flush=True)

    if "--service" in sys.argv:
        sys.stderr.write("mini-ptx-agent: could not ask for capabilities at nowhere\n")
        sys.exit(3)
    for number, text in enumerate(sys.stdin, 1):
        item = json.loads(text)
        if "cancel" in item:
            line = waiting.pop(item["cancel"], None)
            if line is not None:
                answer(item["cancel"], line, failure={"exit_status": 3, "error": "CANCELLED", "message": "cancelled by its client."})
            continue
        source = item.get("source") or item.get("answer")
        if source == "die":
            sys.stderr.write("mini-ptx-agent: the disk is full\n")
            sys.exit(3)
        if source == "wait":
            waiting[item["id"]] = number
        elif source == "usage":
            answer(item["id"], number, failure={"exit_status": 2, "error": "NOT_FOUND", "message": "no workload"})
        elif source == "talk":
            answer(item["id"], number, no_candidate="no fenced block")
        else:
            answer(item["id"], number, verdict={**VERDICTS[source], "workload": item.get("workload", "w")})


main()
