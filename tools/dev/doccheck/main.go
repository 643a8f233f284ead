// Command doccheck says what is wrong in the documentation:
//
//	go run ./tools/dev/doccheck
//
// in the repository prints the messages that docs/troubleshooting.md explains and no program or
// rule has any more, and links that lead nowhere. A message is the constant format that is given to
// fmt.Errorf, errors.New, or a function of ours with a parameter "format" and "args ...any", in
// what users run; and what the rules' fail says.
package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"log"
	"os"
	"slices"
)

const page = "docs/troubleshooting.md"

func main() {
	log.SetFlags(0)
	log.SetPrefix("doccheck: ")
	problems, err := check(os.DirFS("."))
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range problems {
		fmt.Println(p)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

// check lists the problems of a repository's documentation, one a line.
func check(repo fs.FS) ([]string, error) {
	messages, err := allMessages(repo)
	if err != nil {
		return nil, err
	}
	text, err := fs.ReadFile(repo, page)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, p := range stale(messages, patterns(string(text))) {
		problems = append(problems, fmt.Sprintf("%s:%d: no program says this:\n%s", page, p.line, p.text))
	}
	links, err := brokenLinks(repo)
	return append(problems, links...), err
}

// allMessages lists the messages of the programs and the rules, by where they are.
func allMessages(repo fs.FS) ([]message, error) {
	programs, err := goMessages(repo)
	if err != nil {
		return nil, err
	}
	rules, err := bzlMessages(repo)
	if err != nil {
		return nil, err
	}
	all := append(programs, rules...)
	slices.SortFunc(all, func(a, b message) int { return cmp.Compare(a.where, b.where) })
	return all, nil
}
