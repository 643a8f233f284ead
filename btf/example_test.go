package btf_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	cilium "github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/btf"
)

// compile compiles C source code, for examples and tests.
func compile(source string, args ...string) (*os.File, error) {
	dir, err := os.MkdirTemp("", "btf")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out")
	if len(args) == 0 {
		args = []string{"cc", "-g", "-c"}
	}
	cmd := exec.Command(args[0], append(args[1:], "-xc", "-", "-o", out)...)
	cmd.Stdin = bytes.NewReader([]byte(source))
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	return os.Open(out)
}

// This example makes BTF of an object file, and reads it with another library.
func Example() {
	file, err := compile("struct task { int pid; }; int pid_of(struct task *t) { return t->pid; }")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	result, err := btf.FromELF("task.o", file, btf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	spec, err := cilium.LoadSpecFromReader(bytes.NewReader(result.BTF))
	if err != nil {
		log.Fatal(err)
	}
	var f *cilium.Func
	if err := spec.TypeByName("pid_of", &f); err != nil {
		log.Fatal(err)
	}
	violations, err := btf.Verify(result.BTF)
	fmt.Println(f.Type.(*cilium.FuncProto).Params[0].Type, violations, err)
	// Output: Pointer[target=Struct:"task"] [] <nil>
}
