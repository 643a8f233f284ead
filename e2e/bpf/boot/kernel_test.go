package boot

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	cilium "github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/machine"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/kernelbtf"
	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// A kernel is a kernel that e2e/bpf/boot/fetch or e2e/boot/fetch has fetched.
type kernel struct {
	dir, work  string // the directory with the kernel's files, and a directory for the test's files
	arch       string // Go's name of the architecture
	machine    machine.Machine
	vmlinuxBTF []byte
	modules    []string          // nf_conntrack, after its dependencies; nil if it has no BTF
	compiled   map[string][]byte // the objects that the kernel can load
	specs      map[string]*cilium.Spec
}

func newKernel(t *testing.T, name, dir string) kernel {
	t.Helper()
	k := kernel{dir: dir, work: t.TempDir(), arch: "amd64", compiled: map[string][]byte{}}
	if name == "arm64" {
		k.arch = name
	}
	k.machine = k.newMachine()
	found := must.Get(kernelbtf.Read(k.machine.Kernel, 1<<30))(t)
	k.vmlinuxBTF = found.Data
	whole := parse(t, k.vmlinuxBTF)
	k.specs = map[string]*cilium.Spec{"": whole, wholeBTF: whole}
	if k.section(t, "nf_conntrack", ".BTF") != nil {
		k.addModule(t, "nf_conntrack")
	}
	for _, o := range objects {
		if k.has(o) {
			k.compiled[o] = bpftest.Compile(t, string(harness.ReadFile(t,
				filepath.Join("testdata", o+".bpf.c"))))
		} else {
			t.Logf("the object %s is left out: this kernel is too old", o)
		}
	}
	return k
}

// has reports whether the kernel has the features that an object needs. The comments give the first
// kernel version with the feature.
func (k kernel) has(object string) bool {
	if object == "kfunc" { // 6.2
		_, err := k.specs[""].AnyTypeByName("bpf_task_from_pid")
		return err == nil
	}
	return !inModule(object) || k.modules != nil // 5.11
}

func (k kernel) module(name string) string { return filepath.Join(k.dir, "modules", name+".ko") }

// section returns the content of a section of a module, or nil if the module has no such section.
func (k kernel) section(t *testing.T, name, section string) []byte {
	t.Helper()
	f := must.Get(elf.Open(k.module(name)))(t)
	defer f.Close()
	s := f.Section(section)
	if s == nil {
		return nil
	}
	data := must.Get(s.Data())(t)
	return data
}

// addModule adds a module to k.modules, after the modules on which it depends.
func (k *kernel) addModule(t *testing.T, name string) {
	t.Helper()
	for _, field := range bytes.Split(k.section(t, name, ".modinfo"), []byte{0}) {
		if list, ok := bytes.CutPrefix(field, []byte("depends=")); ok && len(list) > 0 {
			for _, needed := range strings.Split(string(list), ",") {
				k.addModule(t, needed)
			}
		}
	}
	if !slices.Contains(k.modules, name) {
		k.modules = append(k.modules, name)
	}
}

// programs returns the names of an object's programs.
func (k kernel) programs(t *testing.T, object string) []string {
	t.Helper()
	spec := must.Get(ebpf.LoadCollectionSpecFromReader(bytes.NewReader(k.compiled[object])))(t)
	return slices.Sorted(maps.Keys(spec.Programs))
}

// buildLoaders builds the two loaders and puts them into the guest's file system.
func (k kernel) buildLoaders(t *testing.T, image string) {
	t.Helper()
	must.OK(t, os.MkdirAll(image, 0o777))
	harness.Command{
		Argv: []string{"go", "build", "-o", filepath.Join(image, "load-ebpf"),
			"github.com/rules-btf/rules_btf/e2e/bpf/boot/load"},
		Env: []string{"CGO_ENABLED=0", "GOARCH=" + k.arch},
	}.Must(t)
	argv := []string{"clang", "-O1", "-Wall", "-Werror", "-static", "-fuse-ld=lld", "-o",
		filepath.Join(image, "load-libbpf"), "testdata/load.c"}
	if k.arch == "arm64" {
		argv = append(argv, "--target=aarch64-linux-gnu", "--sysroot="+filepath.Join(k.dir, "sysroot"))
	}
	// libz precedes libelf, because both define a function crc32 and the linker takes the first one.
	harness.MustRun(t, "", append(argv, "-lbpf", "-lz", "-lelf", "-lzstd")...)
}

// writeBTF writes two files into the guest's file system: the minimal BTF for the objects, and the
// control, which is minimal BTF without one member.
func (k kernel) writeBTF(t *testing.T, image string) {
	t.Helper()
	btfcore := harness.Tool(t, "btfcore")
	needs := filepath.Join(k.work, "programs.needs")
	argv := []string{btfcore, "needs", "-o", needs}
	for _, name := range slices.Sorted(maps.Keys(k.compiled)) {
		path, object := filepath.Join(k.work, name+".bpf.o"), k.compiled[name]
		harness.WriteFile(t, path, string(object))
		argv = append(argv, path)
	}
	harness.MustRun(t, "", argv...)
	argv = []string{btfcore, "min", "-q", "--needs", needs, "--flat", "-o",
		filepath.Join(image, minimalBTF)}
	if k.modules != nil {
		argv = append(argv, "--module", k.module("nf_conntrack"))
	}
	harness.MustRun(t, "", append(argv, k.machine.Kernel)...)
	minimal := harness.ReadFile(t, filepath.Join(image, minimalBTF))
	t.Logf("the kernel's BTF has %d bytes, minimal BTF %d", len(k.vmlinuxBTF), len(minimal))
	k.specs[minimalBTF] = parse(t, minimal)
	control := withoutPid(t, minimal)
	harness.WriteFile(t, filepath.Join(image, controlBTF), string(control))
	k.specs[controlBTF] = parse(t, control)
}

// withoutPid returns BTF without the member pid of task_struct.
func withoutPid(t *testing.T, data []byte) []byte {
	t.Helper()
	b := must.Get(btf.Parse(data, nil))(t)
	for _, s := range b.All() {
		if s.Kind != btf.KindStruct || b.TypeName(s) != "task_struct" {
			continue
		}
		members := b.MembersOf(s)
		at := slices.IndexFunc(members, func(m btf.Member) bool {
			name, err := b.Name(m.NameOff)
			return err == nil && name == "pid"
		})
		if at < 0 {
			break
		}
		copy(members[at:], members[at+1:])
		s.Vlen--
		data := must.Get(btf.Encode(b, btf.EncodeOptions{}))(t)
		return data
	}
	t.Fatal("the minimal BTF has no struct task_struct with a member pid")
	return nil
}

func parse(t *testing.T, data []byte) *cilium.Spec {
	t.Helper()
	spec := must.Get(cilium.LoadSpecFromReader(bytes.NewReader(data)))(t)
	return spec
}

// cutImmediate takes the instructions of the program type_id_target. It returns the constant in the
// first instruction, which is the program's result, and the instructions without this constant.
func cutImmediate(t *testing.T, insns string) (id uint32, rest string) {
	t.Helper()
	code, err := hex.DecodeString(insns)
	if err != nil || len(code) < 8 || code[0] != 0x18 && code[0] != 0xb7 && code[0] != 0xb4 {
		t.Fatalf("the program doesn't begin with a constant: %s", insns)
	}
	id = binary.LittleEndian.Uint32(code[4:])
	return id, insns[:8] + insns[16:]
}
