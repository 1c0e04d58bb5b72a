package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	input := bufio.NewReader(os.Stdin)
	var sum, number int64
	for {
		if _, err := fmt.Fscan(input, &number); err != nil {
			break
		}
		sum += number
	}
	fmt.Println(sum)
}
