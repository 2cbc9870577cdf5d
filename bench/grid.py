"""Shapes that lie evenly in logarithm, for bench/replay: what the model's corrections are made of.

usage: grid.py STEP [MOST]
Every pair of sizes of C and every k from 64 to 16384, each STEP times the one before, whose product
is at most MOST^3 (default 16384); the larger size is m. Then batches of small cubes.
"""

import sys

LEAST, LARGEST = 64, 16384
BATCHED = [16, 32, 64, 128, 256, 512, 1024]
BATCHED_PRODUCTS = 2**30  # multiplications in a whole batch


def sizes(step):
    size = LEAST
    while size <= LARGEST:
        yield size
        size *= step


def main(step, most=LARGEST):
    print("op_a,op_b,m,n,k,batch,beta,count")
    for m in sizes(step):
        for n in sizes(step):
            for k in sizes(step):
                if n <= m and m * n * k <= most**3:
                    print(f"N,N,{m},{n},{k},1,0,1")
    for size in BATCHED:
        for batch in sorted({16, max(16, min(65536, BATCHED_PRODUCTS // size**3))}):
            print(f"N,N,{size},{size},{size},{batch},0,1")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*map(int, sys.argv[1:]))
