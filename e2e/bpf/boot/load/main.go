// Command load does with cilium/ebpf what ../testdata/load.c does with libbpf. Its usage is
// "load OBJECT [BTF]".
package main

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Printf("load ! %s\n", oneLine(err))
	}
}

func run(args []string) error {
	if err := rlimit.RemoveMemlock(); err != nil { // for kernels before 5.11
		return err
	}
	spec, err := ebpf.LoadCollectionSpec(args[0])
	if err != nil {
		return err
	}
	var options ebpf.CollectionOptions
	if len(args) > 1 {
		if options.Programs.KernelTypes, err = btf.LoadSpec(args[1]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Programs)) {
		text, err := load(spec, name, options)
		if err != nil {
			text = "! " + oneLine(err)
		}
		fmt.Println(name, text)
	}
	return nil
}

// load loads one program, and returns in hexadecimal the instructions that the kernel then has.
func load(spec *ebpf.CollectionSpec, name string, options ebpf.CollectionOptions) (string, error) {
	one := spec.Copy()
	one.Programs = map[string]*ebpf.ProgramSpec{name: one.Programs[name]}
	loaded, err := ebpf.NewCollectionWithOptions(one, options)
	if err != nil {
		return "", err
	}
	defer loaded.Close()
	insns, err := instructions(loaded.Programs[name].FD())
	return fmt.Sprintf("%x", insns), err
}

// instructions returns the instructions of a loaded program. It makes the system call itself,
// because cilium/ebpf has no method that returns the bytes.
func instructions(fd int) ([]byte, error) {
	insns := make([]byte, 1<<16)
	var info struct { // the beginning of struct bpf_prog_info
		_                    [4]uint32
		_, xlatedLen         uint32
		_, xlatedInstruction uint64
	}
	info.xlatedLen = uint32(len(insns))
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&insns[0])
	pin.Pin(&info)
	info.xlatedInstruction = uint64(uintptr(unsafe.Pointer(&insns[0])))
	attr := struct {
		fd, size uint32
		info     uint64
	}{uint32(fd), uint32(unsafe.Sizeof(info)), uint64(uintptr(unsafe.Pointer(&info)))}
	_, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_OBJ_GET_INFO_BY_FD,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 {
		return nil, errno
	}
	return insns[:info.xlatedLen], nil
}

func oneLine(err error) string { return strings.ReplaceAll(fmt.Sprintf("%+v", err), "\n", ";") }
