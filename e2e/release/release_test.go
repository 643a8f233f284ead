// Package release makes a release twice, from two checkouts of the same commit that differ in
// everything else. It builds BTF with the release's tools in a workspace that builds no Go code.
package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

const module = "github.com/rules-btf/rules_btf"

// tools are the programs that every release must have.
var tools = []string{"btfcore", "btfdedup", "btfgen", "btfkbuild", "btfrepro"}

// commit is the commit that is checked out in this repository. made is the directory with the
// release made from that commit.
var made, commit string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		panic(err)
	}
	made = filepath.Join(dir, "made")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// release returns the directory with the release of this checkout's commit. The first call makes
// the release.
func release(t *testing.T) string {
	t.Helper()
	harness.Need(t, "git", "go")
	if _, err := os.Stat(made); err == nil {
		return made
	}
	repo := harness.Repo()
	head, err := harness.Command{Argv: []string{"git", "rev-parse", "HEAD"}, Dir: repo}.Run()
	if err != nil || head.Exit != 0 {
		t.Skip("SKIPPED: this is not a git checkout")
	}
	commit = strings.TrimSpace(head.Stdout)
	harness.MustRun(t, repo, "tools/dev/release", "--revision", commit, "-o", made)
	return made
}

// elsewhere is a clone of this repository at a different path. Commands there run with a different
// environment and, if the test runs as root, as a different user.
type elsewhere struct {
	dir, repo string
	env       []string
	sys       *syscall.SysProcAttr
}

func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	dir := must.Get(os.MkdirTemp("", "another place"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	e := &elsewhere{dir: dir, repo: filepath.Join(dir, "some", "clone")}
	clone(t, e.repo)
	// The other user gets a copy of the module cache, because that user may be unable to read the
	// original. First, modules that only a release needs are added to the cache, such as cobra's
	// generator for man pages.
	harness.MustRun(t, e.repo, "go", "mod", "download")
	modules := strings.TrimSpace(harness.MustRun(t, e.repo, "go", "env", "GOMODCACHE"))
	harness.MustRun(t, dir, "cp", "-r", modules+"/cache/download", dir+"/proxy")
	e.env = []string{"HOME=" + dir + "/home", "USER=somebody", "LOGNAME=somebody", "TZ=Pacific/Apia",
		"LC_ALL=C.UTF-8", "GOPATH=" + dir + "/home/gopath", "GOCACHE=" + dir + "/cache",
		"GOMODCACHE=" + dir + "/modules", "GOPROXY=file://" + dir + "/proxy",
		"GOFLAGS=-modcacherw", "GOENV=off", "GOSUMDB=off", "TMPDIR=" + dir + "/tmp"}
	for _, name := range []string{"home", "tmp"} {
		must.OK(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	if os.Getuid() == 0 {
		const nobody = 65534
		harness.MustRun(t, dir, "chown", "-R", fmt.Sprint(nobody), dir)
		e.sys = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return e
}

// clone makes a checkout of the commit.
func clone(t *testing.T, dir string) {
	t.Helper()
	harness.MustRun(t, os.TempDir(), "git", "clone", "-q", "--no-tags", "--no-checkout",
		harness.Repo(), dir)
	harness.MustRun(t, dir, "git", "checkout", "-q", commit)
}

// run runs a command in the clone.
func (e *elsewhere) run(t *testing.T, argv ...string) {
	t.Helper()
	argv = append([]string{"-c", `umask 077 && exec "$@"`, "sh"}, argv...)
	cmd := exec.Command("/bin/sh", argv...)
	cmd.Dir, cmd.SysProcAttr, cmd.Env = e.repo, e.sys, append(os.Environ(), e.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
}

// TestReproducible checks that two checkouts give identical files: both the files of a release, and
// the program that the command in docs/releases.md builds.
func TestReproducible(t *testing.T) {
	const build = "CGO_ENABLED=0 go build -trimpath -buildvcs=false -o bin/ ./tools/btfgen"
	doc := harness.ReadFile(t, filepath.Join(harness.Repo(), "docs/releases.md"))
	if !bytes.Contains(doc, []byte(build)) {
		t.Errorf("docs/releases.md has no command %s", build)
	}
	one := release(t)
	here := filepath.Join(t.TempDir(), "checkout")
	clone(t, here)
	harness.MustRun(t, here, "sh", "-c", build)

	e := newElsewhere(t)
	e.run(t, "sh", "-c", build)
	same(t, filepath.Join(here, "bin"), filepath.Join(e.repo, "bin"))
	e.env = append(e.env, "GOAMD64=v3") // has no effect, because the release script overrides it
	two := filepath.Join(e.dir, "made")
	e.run(t, "tools/dev/release", "-o", two)
	same(t, one, two)
	harness.MustRun(t, one, "sha256sum", "--check", "--strict", "SHA256SUMS")
}

// same checks that two directories contain the same files.
func same(t *testing.T, one, two string) {
	t.Helper()
	files, err := os.ReadDir(one)
	must.OK(t, err)
	others, err := os.ReadDir(two)
	if err != nil || len(files) != len(others) || len(files) == 0 {
		t.Fatalf("%d files and %d: %v", len(files), len(others), err)
	}
	for _, f := range files {
		a, b := filepath.Join(one, f.Name()), filepath.Join(two, f.Name())
		if !bytes.Equal(harness.ReadFile(t, a), harness.ReadFile(t, b)) {
			t.Errorf("%s differs", f.Name())
		}
	}
}

// TestPrograms checks the programs for each architecture: they must be static, contain the right
// build information but no paths, and be listed in the bill of materials.
func TestPrograms(t *testing.T) {
	dir := release(t)
	bom := readSBOM(t, dir)
	for platform, machine := range map[string]elf.Machine{
		"linux-amd64": elf.EM_X86_64, "linux-arm64": elf.EM_AARCH64} {
		found := unpack(t, dir, platform)
		for _, tool := range tools {
			data := found[tool]
			program, err := elf.NewFile(bytes.NewReader(data))
			if err != nil {
				t.Fatalf("%s of %s: %v", tool, platform, err)
			}
			if program.Machine != machine || program.Section(".interp") != nil {
				t.Errorf("%s of %s: %v, or not static", tool, platform, program.Machine)
			}
			info, err := buildinfo.Read(bytes.NewReader(data))
			if err != nil || info.Path != module+"/tools/"+tool || info.Main.Version != "v"+version(t) {
				t.Errorf("%s of %s: %v, %v", tool, platform, err, info)
			}
			sum := fmt.Sprintf("%x", sha256.Sum256(data))
			if c := bom[platform+"/"+tool]; c.Hashes == nil || (*c.Hashes)[0].Value != sum {
				t.Errorf("%s of %s: the bill of materials has no such file: %v", tool, platform, c)
			}
			for _, d := range info.Deps {
				if bom["pkg:golang/"+d.Path+"@"+d.Version].Version != d.Version {
					t.Errorf("the bill of materials has no %s %s", d.Path, d.Version)
				}
			}
			for _, place := range []string{harness.Repo(), filepath.Dir(made)} {
				if bytes.Contains(data, []byte(place)) {
					t.Errorf("%s of %s holds the path %s", tool, platform, place)
				}
			}
		}
	}
}

// TestVersion checks that the programs print the release's version.
func TestVersion(t *testing.T) {
	found := unpack(t, release(t), "linux-amd64")
	for _, tool := range tools {
		path := filepath.Join(t.TempDir(), tool)
		must.OK(t, os.WriteFile(path, found[tool], 0o755))
		out, err := exec.Command(path, "--version").CombinedOutput()
		if want := tool + " version " + version(t) + "\n"; err != nil || string(out) != want {
			t.Errorf("%s --version: %q, want %q; %v", tool, out, want, err)
		}
	}
}

// TestManuals checks that the archives have man pages for this version and shell completions, and
// that these are the same for all platforms.
func TestManuals(t *testing.T) {
	one := unpack(t, release(t), "linux-amd64")
	other := unpack(t, release(t), "linux-arm64")
	for name, text := range map[string]string{
		"share/man/man1/btfgen.1":                       "rules_btf " + version(t),
		"share/man/man1/btfdedup-link.1":                "rules_btf " + version(t),
		"share/man/man1/btfcore-min.1":                  "rules_btf " + version(t),
		"share/man/man1/btfrepro-diff.1":                "rules_btf " + version(t),
		"share/bash-completion/completions/btfgen":      "__start_btfgen",
		"share/zsh/site-functions/_btfdedup":            "#compdef btfdedup",
		"share/fish/vendor_completions.d/btfdedup.fish": "complete -c btfdedup",
	} {
		if !bytes.Contains(one[name], []byte(text)) {
			t.Errorf("%s: no %q in %d bytes", name, text, len(one[name]))
		}
		if !bytes.Equal(one[name], other[name]) {
			t.Errorf("%s differs between platforms", name)
		}
	}
}

// TestSources checks that the archive with the sources has the files of the commit. One of them
// differs: it has the checksums of the tools.
func TestSources(t *testing.T) {
	dir := release(t)
	name := "rules_btf-" + version(t)
	tree := filepath.Join(t.TempDir(), "tree.tar.gz")
	harness.MustRun(t, harness.Repo(), "git", "archive", "--prefix="+name+"/", "-o", tree,
		commit+"^{tree}")
	got, want := untar(t, filepath.Join(dir, name+".tar.gz")), untar(t, tree)
	for path := range want {
		if same := bytes.Equal(got[path], want[path]); same == strings.HasSuffix(path, "/release.bzl") {
			t.Errorf("%s: the same as in the commit: %v", path, same)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, the commit has %d", len(got), len(want))
	}
	for file, sum := range sums(t, dir) {
		if strings.HasPrefix(file, name+"-linux-") &&
			!bytes.Contains(got[name+"/rules/private/release.bzl"], []byte(`"`+sum+`"`)) {
			t.Errorf("release.bzl lacks the checksum of %s", file)
		}
	}
}

// version returns the version in MODULE.bazel.
func version(t *testing.T) string {
	t.Helper()
	text := string(harness.ReadFile(t, filepath.Join(harness.Repo(), "MODULE.bazel")))
	_, rest, _ := strings.Cut(text, "version = \"")
	v, _, _ := strings.Cut(rest, "\"")
	return v
}

// unpack returns the files in the archive for a platform.
func unpack(t *testing.T, dir, platform string) map[string][]byte {
	t.Helper()
	return untar(t, filepath.Join(dir, "rules_btf-"+version(t)+"-"+platform+".tar.gz"))
}

func untar(t *testing.T, name string) map[string][]byte {
	t.Helper()
	unzipped := must.Get(gzip.NewReader(bytes.NewReader(harness.ReadFile(t, name))))(t)
	files := map[string][]byte{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return files
		}
		must.OK(t, err)
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

// readSBOM returns the components in the bill of materials. The keys are their references
// (bom-ref). It checks that each dependency refers to a component that exists.
func readSBOM(t *testing.T, dir string) map[string]cyclonedx.Component {
	t.Helper()
	var bom cyclonedx.BOM
	text := harness.ReadFile(t, filepath.Join(dir, "rules_btf-"+version(t)+".cdx.json"))
	decoder := cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON)
	must.OK(t, decoder.Decode(&bom))
	components := map[string]cyclonedx.Component{}
	for _, c := range append(*bom.Components, *bom.Metadata.Component) {
		components[c.BOMRef] = c
	}
	for _, d := range *bom.Dependencies {
		if d.Dependencies == nil || len(*d.Dependencies) == 0 {
			t.Errorf("%s depends on nothing", d.Ref)
			continue
		}
		for _, ref := range append(*d.Dependencies, d.Ref) {
			if components[ref].BOMRef == "" {
				t.Errorf("there is no component %s", ref)
			}
		}
	}
	return components
}
