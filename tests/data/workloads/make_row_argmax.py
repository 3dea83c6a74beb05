#!/usr/bin/env python3
"""Makes row_argmax_m64_n128.safetensors: x [64, 128] bfloat16, y [64] int32, the index of the first largest element.

Needs nothing but Python, and gives the same bytes everywhere. Every fourth row has its maximum twice.
"""
import json
import random
import struct
import sys

ROWS, COLUMNS = 64, 128


def main():
    source = random.Random(7)
    x, y = [], []
    for row in range(ROWS):
        # Quarters from -8 to 7.75 are exact in bfloat16.
        values = [source.randrange(-32, 31) / 4 for _ in range(COLUMNS)]
        best = source.randrange(COLUMNS)
        values[best] = 7.75
        if row % 4 == 0:
            values[source.randrange(COLUMNS)] = 7.75
        x += values
        y.append(values.index(max(values)))
    bits = [struct.unpack("<I", struct.pack("<f", value))[0] >> 16 for value in x]
    data = struct.pack("<%dH" % len(bits), *bits) + struct.pack("<%di" % len(y), *y)
    end_of_x = 2 * len(bits)
    header = {
        "x": {"dtype": "BF16", "shape": [ROWS, COLUMNS], "data_offsets": [0, end_of_x]},
        "y": {"dtype": "I32", "shape": [ROWS], "data_offsets": [end_of_x, len(data)]},
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(sys.argv[1], "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main()
