package kernel

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/language"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestUnits converts each unit of the kernel separately and links the results. The linked BTF must
// be the same as the BTF from a conversion of the whole kernel.
func TestUnits(t *testing.T) {
	vmlinux := vmlinux(t)
	whole, _ := encode(t, vmlinux, nil)
	facts, linked := filepath.Join(t.TempDir(), "facts"), filepath.Join(t.TempDir(), "linked.btf")
	harness.MustRun(t, "", harness.Tool(t, "btfgen"), "facts", "-o", facts, vmlinux)
	each := units(t, vmlinux)
	harness.MustRun(t, "", harness.Tool(t, "btfdedup"), "link", "-o", linked, "--facts", facts,
		harness.ParamFile(t, each))
	if !bytes.Equal(harness.ReadFile(t, linked), harness.ReadFile(t, whole.Path)) {
		t.Errorf("the BTF linked from %d units differs from the kernel's", len(each))
	}
}

// units writes a BTF object for each unit of a linked file, except for Rust units, and returns the
// objects' paths.
func units(t *testing.T, path string) (paths []string) {
	t.Helper()
	rust := must.Get(language.Parse("rust"))(t)
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	dir := t.TempDir()
	options := convert.Options{Features: features.Default(), LangExclude: rust}
	must.OK(t, convert.EachUnit(f, options, nil, func(number int, o *object.Object) error {
		data, err := object.Write(o, 1)
		if err != nil {
			return err
		}
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("%05d.btfo", number)))
		return os.WriteFile(paths[len(paths)-1], data, 0o666)
	}))
	return paths
}
