package measure

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/language"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// Units writes a BTF object of each compilation unit of a linked file, but for those in Rust, to
// the new directory dir. The units stand for the object files that it was linked of; 00000.btfo is
// of the first one.
func Units(path, dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	rust, err := language.Parse("rust")
	if err != nil {
		return err
	}
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = convert.File(f, convert.Options{Features: features.Default(), LangExclude: rust,
		Each: func(number int, o *object.Object) error {
			data, err := object.Write(o)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%05d.btfo", number)), data, 0o666)
		}})
	return err
}
