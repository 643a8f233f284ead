// Package version tells the version of a program.
package version

import (
	"runtime/debug"
	"strings"
	"sync"
)

// development is the version of a program that nobody has released.
const development = "development"

// released is set by Bazel to the version in MODULE.bazel (BUILD.bazel). That has no commit: what
// Bazel builds depends on the sources alone, and a release is the commit that its tag names.
var released = development

// Number is the version of the program: what Bazel has set, else what the Go command knows: of "go
// install …@VERSION", or of git. Of output files only statistics may depend on it.
func Number() string { return versions().version }

// Line is what --version prints after the program's name: the version, and the commit if the Go
// command has built the program in a checkout of git.
func Line() string {
	v := versions()
	if v.commit == "" {
		return v.version
	}
	return v.version + " (commit " + v.commit + ")"
}

type programVersion struct{ version, commit string }

// versions is asked for when it is wanted: it takes time to read what the Go command says.
var versions = sync.OnceValue(func() programVersion {
	info, _ := debug.ReadBuildInfo()
	return read(released, info)
})

// read reads what the Go command has put into a program for which Bazel has set the version,
// or not. info may be nil.
func read(set string, info *debug.BuildInfo) programVersion {
	v := programVersion{version: set}
	if info == nil || set != development {
		return v
	}
	if number, ok := strings.CutPrefix(info.Main.Version, "v"); ok {
		v.version = number
	}
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.commit = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if v.commit != "" && modified {
		v.commit += ", modified"
	}
	return v
}
