package main

import "fmt"

func main() {
	var parts [][]byte
	for i := 0; i < 1024; i++ {
		part := make([]byte, 1<<20)
		for j := range part {
			part[j] = byte(i)
		}
		parts = append(parts, part)
	}
	fmt.Println(len(parts))
}
