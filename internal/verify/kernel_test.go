package verify_test

import (
	"errors"
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/btfload"
	"github.com/rules-btf/rules_btf/internal/verify"
)

const runningKernel = "/sys/kernel/btf/vmlinux"

func TestRunningKernelsOwnBTF(t *testing.T) {
	data, err := os.ReadFile(runningKernel)
	if err != nil {
		t.Skip("SKIPPED: no BTF of a running kernel:", err)
	}
	b, err := btf.Parse(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	byRule := map[string]int{}
	for _, v := range verify.Check(b, verify.Options{}) {
		byRule[v.Rule]++
		if byRule[v.Rule] < 4 {
			t.Log(v)
		}
	}
	t.Log(byRule)
	var refused *btfload.RefusedError
	if err := btfload.Load(data, 0); errors.Is(err, btfload.ErrUnavailable) {
		t.Skip("SKIPPED:", err)
	} else if errors.As(err, &refused) {
		t.Log(err)
	} else if err != nil {
		t.Fatal(err)
	}
}
