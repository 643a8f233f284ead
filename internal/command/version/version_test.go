package version

import (
	"runtime/debug"
	"testing"
)

func TestRead(t *testing.T) {
	git := []debug.BuildSetting{{Key: "-trimpath", Value: "true"}, {Key: "vcs.revision", Value: "abc"},
		{Key: "vcs.modified", Value: "false"}}
	changed := append(git[:2:2], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	info := func(version string, settings []debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	for _, c := range []struct {
		name string
		set  string
		info *debug.BuildInfo
		want programVersion
	}{
		{"go install of a version", development, info("v1.2.3", nil), programVersion{"1.2.3", ""}},
		{"go build in a checkout", development, info("v1.2.4-0.2026-abc", git),
			programVersion{"1.2.4-0.2026-abc", "abc"}},
		{"with changes", development, info("(devel)", changed),
			programVersion{development, "abc, modified"}},
		{"go build -buildvcs=false", development, info("(devel)", nil), programVersion{development, ""}},
		{"Bazel", "1.2.3", info("v1.2.3", git), programVersion{"1.2.3", ""}},
		{"without anything", development, nil, programVersion{development, ""}},
	} {
		if got := read(c.set, c.info); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
