"""The command `mini-ptx-agent` of an installed wheel: the agent itself."""
import os
import sys

from ._agent import find_agent
from .errors import UsageError


def main() -> None:
    os.environ.pop("SASSAY_AGENT", None)
    try:
        agent = find_agent()
    except UsageError as error:
        sys.exit(f"mini-ptx-agent: {error}")
    os.execv(agent, [agent, *sys.argv[1:]])


if __name__ == "__main__":
    main()
