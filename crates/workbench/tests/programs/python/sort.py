import sys

numbers = list(map(int, sys.stdin.read().split()))[1:]
print(*sorted(numbers), sep="\n")
