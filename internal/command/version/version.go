// Package version returns the version of the program.
package version

import (
	"runtime/debug"
	"strings"
	"sync"
)

// development is the version of a program that is not from a release.
const development = "development"

// released is set by Bazel to the version in MODULE.bazel (see BUILD.bazel). It contains no commit,
// because what Bazel builds depends only on the sources; a release's Git tag identifies its commit.
var released = development

// Line returns what --version prints after the program's name: the version that Bazel set, or
// otherwise the one that the Go command recorded (from "go install …@VERSION", or from git) and, in
// a Git checkout, the commit.
func Line() string {
	v := versions()
	if v.commit == "" {
		return v.version
	}
	return v.version + " (commit " + v.commit + ")"
}

type programVersion struct{ version, commit string }

// versions reads the version on first use, because reading it takes time.
var versions = sync.OnceValue(func() programVersion {
	info, _ := debug.ReadBuildInfo()
	return read(released, info)
})

// read returns released, the version from Bazel. If released is the constant development, it
// returns the version that the Go command recorded in info, which may be nil.
func read(released string, info *debug.BuildInfo) programVersion {
	v := programVersion{version: released}
	if info == nil || released != development {
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
