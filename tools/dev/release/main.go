// Command release makes the files of a release of a commit: the tools as static programs for each
// platform with their man pages and completions for shells, the sources, a software bill of
// materials, and the checksums of these.
//
//	go run ./tools/dev/release -o DIR
//
// The version is what the commit's MODULE.bazel says. Only what is committed counts. The files
// depend on the commit and on the version of Go alone: not on directory, user, time, caches, git
// tags or the Go environment. The programs are those that everybody gets who says
//
//	CGO_ENABLED=0 go install -trimpath github.com/rules-btf/rules_btf/tools/btfgen@vVERSION
//
// because they are built like that, of the module as a Go module proxy will serve it.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

// platforms are those that programs are built for, as GOOS-GOARCH.
// rules/private/prebuilt.bzl has them too.
var platforms = []string{"linux-amd64", "linux-arm64"}

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	repo := flag.String("repo", ".", "the root of the git repository, or of a work tree of it")
	revision := flag.String("revision", "HEAD", "the commit")
	out := flag.String("o", "", "the directory to make")
	flag.Parse()
	if *out == "" || flag.NArg() != 0 {
		log.Print("usage: release [--repo DIR] [--revision REVISION] -o DIR")
		os.Exit(2)
	}
	if err := run(*repo, *revision, *out); err != nil {
		log.Fatal(err)
	}
}

// run makes the directory out, which appears when all files are in it.
func run(repo, revision, out string) (err error) {
	if _, err := os.Lstat(out); err == nil {
		return fmt.Errorf("%s exists already: name a new directory", out)
	}
	partial, err := os.MkdirTemp(filepath.Dir(out), ".release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	scratch, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	s, err := openSource(repo, revision, filepath.Join(scratch, "source"))
	if err != nil {
		return err
	}

	module, err := s.publish(filepath.Join(scratch, "proxy"))
	if err != nil {
		return err
	}
	var all []program
	for _, platform := range platforms {
		log.Printf("building the tools of %s for %s", module, platform)
		programs, err := s.build(scratch, platform)
		if err != nil {
			return err
		}
		all = append(all, programs...)
	}
	share := filepath.Join(scratch, "manuals")
	if err := s.writeManuals(scratch, share); err != nil {
		return err
	}
	for _, platform := range platforms {
		if err := s.packPrograms(partial, platform, all, share); err != nil {
			return err
		}
	}
	if err := s.packSource(partial); err != nil {
		return err
	}
	if err := s.writeSBOM(filepath.Join(partial, s.name(".cdx.json")), all); err != nil {
		return err
	}
	if err := writeSums(partial); err != nil {
		return err
	}
	if err := os.Chmod(partial, 0o755); err != nil {
		return err
	}
	return os.Rename(partial, out)
}
