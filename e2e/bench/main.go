// Command bench measures commands, and prints the results as Markdown tables. e2e/bench/run uses
// it.
//
//	bench machine                             describes the machine, and how busy it is
//	bench table RUNS HEADING {NAME COMMAND}…  time and memory, and ratios to the first command
//	bench growth RUNS HEADING {NAME COMMAND}… time and memory over the size of the DWARF
//
// COMMAND is a shell command line. For growth, it must write what btfgen elf -v prints to the file
// STATS.
package main

import (
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
)

var tables = map[string]func(runs int, commands []command){
	"table": table, "growth": growth,
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	args := os.Args[1:]
	if len(args) == 1 && args[0] == "machine" {
		machine()
		return
	}
	if len(args) < 5 || len(args)%2 != 1 || tables[args[0]] == nil {
		usageError("bench machine, or bench table|growth RUNS HEADING {NAME COMMAND}…")
	}
	runs, err := strconv.Atoi(args[1])
	if err != nil || runs < 1 {
		usageError("RUNS is %s, but must be a number from 1 up", args[1])
	}
	var commands []command
	for c := range slices.Chunk(args[3:], 2) {
		commands = append(commands, command{c[0], c[1]})
	}
	fmt.Printf("\n### %s\n\n", args[2])
	before := now()
	tables[args[0]](runs, commands)
	fmt.Printf("\n%s\n", now().since(before))
}

func usageError(format string, args ...any) {
	log.Printf("usage: "+format, args...)
	os.Exit(2)
}

// orExit returns the value, or ends the program if there is an error.
func orExit[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
