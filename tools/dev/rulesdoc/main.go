// Command rulesdoc writes the reference of the rules, in Markdown, from the documentation that
// Bazel extracts.
//
//	rulesdoc --intro INTRO.md --extract FILE.binaryproto --out OUT.md
//
// The extract is the output of Bazel's rule starlark_doc_extract for rules/defs.bzl. OUT.md begins
// with the text of INTRO.md, followed by the reference.
package main

import (
	"flag"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("rulesdoc: ")
	intro := flag.String("intro", "", "file with the Markdown that comes first")
	extract := flag.String("extract", "", "output of starlark_doc_extract")
	out := flag.String("out", "", "file to write")
	flag.Parse()
	if *intro == "" || *extract == "" || *out == "" {
		log.Fatal("usage: rulesdoc --intro INTRO.md --extract FILE.binaryproto --out OUT.md")
	}
	data, err := os.ReadFile(*extract)
	if err != nil {
		log.Fatal(err)
	}
	module, err := parseModule(data)
	if err != nil {
		log.Fatalf("%s: %v", *extract, err)
	}
	text, err := os.ReadFile(*intro)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*out, append(text, markdown(module)...), 0o644); err != nil {
		log.Fatal(err)
	}
}
