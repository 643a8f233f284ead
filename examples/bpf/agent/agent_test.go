package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// kernels returns the names of the kernels for which the agent has BTF.
func kernels(t *testing.T) []string {
	t.Helper()
	found, err := fs.Glob(files, "agent_btf/*.btf")
	if err != nil || len(found) != 3 {
		t.Fatalf("BTF of %q, want three kernels (%v)", found, err)
	}
	for i, path := range found {
		found[i] = strings.TrimSuffix(filepath.Base(path), ".btf")
	}
	return found
}

// TestRelocations checks that cilium/ebpf relocates the programs in the same way with a kernel's
// minimal BTF as with its whole BTF.
func TestRelocations(t *testing.T) {
	for _, kernel := range kernels(t) {
		minimal, err := kernelTypes(kernel)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := btf.LoadSpec("../kernels/" + kernel + ".btf")
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			got, want := relocated(t, object, minimal), relocated(t, object, whole)
			if !reflect.DeepEqual(got, want) || len(want) == 0 {
				t.Errorf("%s on %s: %v with minimal BTF, %v with the whole BTF", object, kernel, got, want)
			}
		}
	}
}

// relocated returns the result of each relocation of the programs in an object file.
func relocated(t *testing.T, object string, types *btf.Spec) (found []string) {
	t.Helper()
	spec, err := programs(object)
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range spec.Programs {
		for i := program.Instructions.Iterate(); i.Next(); {
			relocation := btf.CORERelocationMetadata(i.Ins)
			if relocation == nil {
				continue
			}
			fixups, err := btf.CORERelocate([]*btf.CORERelocation{relocation}, []*btf.Spec{types},
				spec.ByteOrder, spec.Types.TypeID)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, fixups[0].String())
		}
	}
	return found
}

// TestLoad checks that the verifier of the running kernel refuses the programs that
// expected_failures.txt lists, and no others. It needs permission to load programs.
func TestLoad(t *testing.T) {
	list, err := os.ReadFile("../expected_failures.txt")
	if err != nil {
		t.Fatal(err)
	}
	expected := strings.Split(string(list), "\n")
	for _, kernel := range kernels(t) {
		types, err := kernelTypes(kernel)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			spec, err := programs(object)
			if err != nil {
				t.Fatal(err)
			}
			fails := false
			for program := range spec.Programs {
				fails = fails || slices.Contains(expected, kernel+" "+program)
			}
			loaded, err := load(object, types)
			if errors.Is(err, os.ErrPermission) || errors.Is(err, ebpf.ErrNotSupported) {
				t.Skip("SKIPPED: ", err)
			}
			if err == nil {
				loaded.Close()
			}
			if (err != nil) != fails {
				t.Errorf("%s on %s: the result is %v; expected to fail: %t", object, kernel, err, fails)
			}
		}
	}
}
