// Command manuals writes the man pages of programs, and the completions of bash, zsh and fish for
// them, below a directory, which may be a prefix such as /usr/local:
//
//	go build -o bin/ ./tools/btfgen ./tools/btfdedup ./tools/btfrepro
//	go run ./tools/dev/manuals -o PREFIX -epoch "$(git log -1 --format=%ct)" bin/*
//
// The files depend on the programs and the time alone.
package main

import (
	"flag"
	"log"
	"os"
	"time"

	"github.com/rules-btf/rules_btf/internal/command/manuals"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("manuals: ")
	out := flag.String("o", "", "the directory to write to")
	epoch := flag.Int64("epoch", -1, "the time that the man pages show, in seconds since 1970")
	flag.Parse()
	if *out == "" || *epoch < 0 || flag.NArg() == 0 {
		log.Print("usage: manuals -o DIR -epoch SECONDS PROGRAM...")
		os.Exit(2)
	}
	for _, program := range flag.Args() {
		if err := manuals.Write(*out, program, time.Unix(*epoch, 0)); err != nil {
			log.Fatal(err)
		}
	}
}
