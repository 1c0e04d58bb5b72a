package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
)

func main() {
	input := bufio.NewReader(os.Stdin)
	var count int
	fmt.Fscan(input, &count)
	numbers := make([]int, count)
	for i := range numbers {
		fmt.Fscan(input, &numbers[i])
	}
	sort.Ints(numbers)
	for _, number := range numbers {
		fmt.Println(number)
	}
}
