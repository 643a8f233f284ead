package remote

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// damage damages each file in one of three ways that also happen in practice: a bit flips, the
// second half is lost, or everything is lost.
func damage(t testing.TB, files []string) {
	t.Helper()
	for i, path := range files {
		content := harness.ReadFile(t, path)
		if len(content) == 0 {
			continue
		}
		switch i % 3 {
		case 0:
			content[len(content)/2] ^= 0x10
		case 1:
			content = content[:len(content)/2]
		case 2:
			content = nil
		}
		// The files in a store may be read-only, or have hard links elsewhere.
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(t testing.TB, files []string) {
	t.Helper()
	for _, path := range files {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// store is a cache whose files the test can change.
type store struct {
	name   string
	option string
	dir    string
	server *server // nil for a disk cache
	blobs  func() []string
}

func stores(t *testing.T) []store {
	t.Helper()
	disk := filepath.Join(t.TempDir(), "disk")
	web, grpc := nginx(t), casd(t)
	return []store{
		{"disk", "--disk_cache=" + disk, disk, nil,
			func() []string { return filesBelow(t, filepath.Join(disk, "cas")) }},
		{"HTTP", web.option(), web.dir, web, web.blobs},
		{"gRPC", grpc.option(), grpc.dir, grpc, grpc.blobs},
	}
}

// TestDamagedBlobs fills a cache and damages all content in it. Bazel must not use damaged content.
func TestDamagedBlobs(t *testing.T) { losses(t, "damaged", damage) }

// TestLostBlobs fills a cache and deletes the content in it, but not the action results that refer
// to this content.
func TestLostBlobs(t *testing.T) { losses(t, "lost", remove) }

// losses builds with caches whose content was damaged or deleted, although the caches' action
// results still refer to it. It prints how the builds end, and which options make builds work
// again.
func losses(t *testing.T, what string, lose func(testing.TB, []string)) {
	needAll(t)
	m, want := quick(t)
	fmt.Printf("\n| all blobs %s | the builds after that, each after a clean |\n|---|---|\n", what)
	for _, s := range stores(t) {
		options := append(preset(t, "remote-cache.bazelrc"), s.option)
		m.must(options...)
		blobs := s.blobs()
		if len(blobs) < 60 {
			t.Fatalf("the cache has %d blobs", len(blobs))
		}
		lose(t, blobs)
		fmt.Printf("| %s | ", s.name)
		for i, option := range []string{
			"--remote_download_outputs=toplevel", // Bazel's default
			"--remote_download_outputs=toplevel",
			"--remote_download_outputs=all",
			"--remote_download_outputs=toplevel",
			"--noremote_accept_cached",
			"--remote_download_outputs=toplevel",
			emptied,
		} {
			arg := option
			if option == emptied {
				s.empty(t)
				arg = "--remote_download_outputs=toplevel"
			}
			o := m.build(append(options, arg)...)
			fmt.Printf("`%s`: exit %d, %.0f s, bytes %s; ", option, o.exit, o.seconds, m.right(want))
			if o.exit == 0 {
				m.same(want)
			} else if option == emptied {
				t.Errorf("%s, %s blobs: with an empty cache exit %d", s.name, what, o.exit)
			}
			if o.exit == 0 && (i == 0 || i == 1 || i == 3 || i == 5) {
				break
			}
		}
		fmt.Println("|")
	}
}

// emptied represents the repair that always helps: to delete everything in the cache.
const emptied = "toplevel after all of the cache is deleted"

func (s store) empty(t *testing.T) {
	t.Helper()
	if s.server != nil {
		s.server.kill()
	}
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if s.server != nil {
		s.server.begin()
	}
}

// TestDownloaded checks that with presets/download.bazelrc, builds succeed in spite of lost or
// damaged content.
func TestDownloaded(t *testing.T) {
	m, want := quick(t)
	for i, s := range stores(t) {
		if s.server == nil && !*all {
			continue
		}
		options := append(preset(t, "remote-cache.bazelrc"), s.option)
		options = append(options, preset(t, "download.bazelrc")...)
		m.must(options...)
		blobs, what, lose := s.blobs(), "lost", remove
		if i == 0 || i == 1 {
			what, lose = "damaged", damage
		}
		try(t, m, want, s.server, fault{
			name: fmt.Sprintf("all %d blobs of the %s cache %s", len(blobs), s.name, what),
			how:  "preset with downloads", options: options, exit: []int{0},
			begin: func() { lose(t, blobs) },
			after: "no repair",
		})
	}
}

// TestFullCache builds with caches that are full, because the file system is full or the quota is
// used up.
func TestFullCache(t *testing.T) {
	needAll(t)
	m, want := quick(t)
	web, grpc := nginxOn(t, tmpfs(t, 100)), casd(t, "--quota-high=300K", "--quota-low=100K")
	for _, f := range []fault{
		{name: "the disk cache has 100 KiB", how: "preset",
			options: []string{"--disk_cache=" + tmpfs(t, 100)}, exit: []int{0, 1, 36}},
		{name: "the HTTP cache has 100 KiB", how: "preset", options: []string{web.option()},
			exit: []int{0}},
		{name: "the gRPC cache has a quota of 300 KiB", how: "preset",
			options: []string{grpc.option()}, exit: []int{0}},
	} {
		f.options = append(preset(t, "remote-cache.bazelrc"), f.options...)
		f.after = "no repair"
		try(t, m, want, nil, f)
	}
}
