package main

func main() {
	number := 0
	for {
		number++
	}
}
