// Agent loads the BPF programs of this example on any kernel for which it has minimal BTF, and
// prints which of them load.
//
// usage: agent [KERNEL]    (by default the running kernel)
package main

import (
	"bytes"
	"embed"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// These files are part of the agent: the programs, and minimal BTF for each kernel. The names in
// the next line are targets in BUILD.bazel.
//
//go:embed agent_btf exec.bpf.o wait.bpf.o
var files embed.FS

var objects = []string{"exec.bpf.o", "wait.bpf.o"}

func main() {
	log.SetFlags(0)
	kernel, err := running()
	if len(os.Args) > 1 {
		kernel = os.Args[1]
	} else if err != nil {
		log.Fatal(err)
	}
	types, err := kernelTypes(kernel)
	if err != nil {
		log.Fatal(err)
	}
	for _, object := range objects {
		loaded, err := load(object, types)
		if err != nil {
			fmt.Printf("%s fails: %v\n", object, err)
			continue
		}
		// A real agent attaches its programs here, and reads its maps.
		loaded.Close()
		fmt.Println(object, "loads")
	}
}

// running returns the release of the running kernel, or "" if that kernel has BTF.
func running() (string, error) {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err == nil {
		return "", nil
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(release)), err
}

// kernelTypes returns the types of a kernel from its minimal BTF. For "" it returns nil, which
// makes cilium/ebpf use the BTF of the running kernel.
func kernelTypes(kernel string) (*btf.Spec, error) {
	if kernel == "" {
		return nil, nil
	}
	data, err := files.ReadFile("agent_btf/" + kernel + ".btf")
	if err != nil {
		return nil, err
	}
	return btf.LoadSpecFromReader(bytes.NewReader(data))
}

// load loads the programs of an object file into the kernel.
func load(object string, types *btf.Spec) (*ebpf.Collection, error) {
	spec, err := programs(object)
	if err != nil {
		return nil, err
	}
	return ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{
		Programs: ebpf.ProgramOptions{KernelTypes: types},
	})
}

// programs reads an object file.
func programs(object string) (*ebpf.CollectionSpec, error) {
	data, err := files.ReadFile(object)
	if err != nil {
		return nil, err
	}
	return ebpf.LoadCollectionSpecFromReader(bytes.NewReader(data))
}
