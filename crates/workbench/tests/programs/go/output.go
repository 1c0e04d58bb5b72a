package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for i := 0; i < 200000; i++ {
		fmt.Fprintln(out, "0123456789")
	}
}
