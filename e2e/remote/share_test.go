package remote

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestShare builds on two machines that differ in directory, output base, PATH, time zone, user and
// umask. With separate caches, both machines must run the same actions. With a shared cache, all
// actions on the second machine must be hits.
func TestShare(t *testing.T) {
	first, second := hello(t), hello(t)
	second.makeDifferent()
	cold := ownCaches(t, first, second)
	sameActions(t, "examples/hello", cold[0], cold[1])
	want := first.digests()
	second.same(want)
	stores := map[string]func() string{
		"disk": func() string { return "--disk_cache=" + filepath.Join(t.TempDir(), "disk") },
		"HTTP": func() string { return nginx(t).option() },
		"gRPC": func() string { return casd(t).option() },
	}
	for _, name := range []string{"disk", "HTTP", "gRPC"} {
		t.Run(name, func(t *testing.T) {
			if name == "disk" {
				needAll(t)
			}
			store := stores[name]()
			cold := show(t, name+": first machine", first.must(store))
			if sum := btfSum(cold); sum.hit != 0 {
				t.Errorf("%d hits in an empty cache", sum.hit)
			}
			first.same(want)
			allHits(t, name, show(t, name+": second machine", second.must(store)))
			second.same(want)
		})
	}
}

// makeDifferent makes the machine differ from others in everything that must not matter.
func (m *machine) makeDifferent() {
	m.t.Helper()
	home := filepath.Join(m.scratch, "home/other")
	dir := filepath.Join(m.scratch, "another place/of another depth")
	must.OK(m.t, os.MkdirAll(filepath.Dir(dir), 0o755))
	must.OK(m.t, os.Rename(m.dir, dir))
	m.dir, m.base = dir, filepath.Join(m.scratch, "other/output/base")
	for _, d := range []string{home, filepath.Dir(m.base)} {
		must.OK(m.t, os.MkdirAll(d, 0o755))
	}
	m.env = []string{"HOME=" + home, "USER=other", "LOGNAME=other", "TZ=Pacific/Kiritimati",
		"LC_ALL=C.UTF-8", "PATH=/nowhere:/bin:/usr/bin:/usr/local/go/bin:/usr/sbin"}
	// Commands run as a different user, in a user namespace in which that user owns root's files.
	m.under = []string{"unshare", "--user", "--map-user=4711", "--map-group=4712",
		"sh", "-c", `umask 077; exec "$@"`, "sh"}
}
