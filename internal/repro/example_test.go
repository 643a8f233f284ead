package repro_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/repro/execlog/execlogtest"
)

// ExampleCompare compares two builds in which a compiler wrote different object files from the same
// source, so that the linked programs differ too.
func ExampleCompare() {
	build := func(object string) *execlog.Log {
		const bin = "bazel-out/k8-fastbuild/bin/"
		b := execlogtest.New()
		out := b.File(bin+"a.o", object)
		b.Spawn(execlogtest.Spawn{Label: "//:a", Mnemonic: "CppCompile",
			Inputs: b.Set(b.File("a.c", "int main(void) {}"))}, out)
		b.Spawn(execlogtest.Spawn{Label: "//:a", Mnemonic: "CppLink", Inputs: b.Set(out)},
			b.File(bin+"a", "linked of "+object))
		log, err := execlog.Read(bytes.NewReader(b.Plain()))
		if err != nil {
			panic(err)
		}
		return log
	}
	report, err := repro.Compare(build("made at 12:00"), build("made at 12:01"), repro.Options{})
	if err != nil {
		panic(err)
	}
	for _, a := range report.Actions {
		fmt.Printf("%s %s: %s\n", a.Mnemonic, a.Label, a.Verdict)
	}
	for _, c := range report.Causes {
		fmt.Printf("cause: %s, %s; %d more actions\n", c.Kind, strings.TrimSpace(c.Text), c.Downstream)
	}
	// Output:
	// CppCompile //:a: non-deterministic
	// CppLink //:a: downstream
	// cause: non-deterministic, CppCompile //:a bazel-out/k8-fastbuild/bin/a.o; 1 more actions
}
