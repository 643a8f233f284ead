package remote

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// damage changes each file in one of three ways, as a disk or an administrator might.
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
		// A store may keep its files as read only, or linked to elsewhere.
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

// store is a cache whose files the test can reach.
type store struct {
	name   string
	option string
	server *server // nil for a disk cache
	blobs  func() []string
}

func stores(t *testing.T) []store {
	t.Helper()
	disk := filepath.Join(t.TempDir(), "disk")
	web, grpc := nginx(t), casd(t)
	return []store{
		{"disk", "--disk_cache=" + disk, nil,
			func() []string { return filesBelow(t, filepath.Join(disk, "cas")) }},
		{"HTTP", web.option(), web, web.blobs},
		{"gRPC", grpc.option(), grpc, grpc.blobs},
	}
}

// TestDamagedBlobs fills a cache and damages all that is in it: nothing corrupt may be accepted.
func TestDamagedBlobs(t *testing.T) {
	losses(t, "damaged", damage)
}

// TestLostBlobs fills a cache and deletes the content, but not the results of actions that refer to
// it.
func TestLostBlobs(t *testing.T) {
	losses(t, "lost", remove)
}

// losses builds with the preset and tells how that and the build after it ends, with a cache that
// has lost what it says that it has.
func losses(t *testing.T, what string, lose func(testing.TB, []string)) {
	m, want := quick(t)
	for _, s := range stores(t) {
		for _, download := range []string{"toplevel", "all"} {
			options := append(preset(t, "remote-cache.bazelrc"), s.option,
				"--remote_download_outputs="+download)
			m.must(options...)
			blobs := s.blobs()
			if len(blobs) < 60 {
				t.Fatalf("the cache has %d blobs", len(blobs))
			}
			try(t, m, want, s.server, fault{
				name: fmt.Sprintf("all %d blobs of the %s cache %s", len(blobs), s.name, what),
				how:  "preset, `" + download + "`", options: options, exit: []int{0, 1, 34, 39},
				begin: func() { lose(t, blobs) },
				after: "as it is",
			})
		}
	}
}

// TestFullCache has caches without room: the file system is full, or the quota is used up.
func TestFullCache(t *testing.T) {
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
		f.after = "as it is"
		try(t, m, want, nil, f)
	}
}
