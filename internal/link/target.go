package link

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/model/object"
)

// checkTarget refuses facts and a base of another byte order or machine than the units, as far as
// both are known. Raw BTF doesn't say for which machine it is, and neither does an index of it. A
// BPF program may be based on that of any machine's kernel.
func (opt *Options) checkTarget(units object.Target, order binary.ByteOrder) error {
	base := strings.TrimSuffix("the base "+opt.BasePath, " ")
	if opt.Base != nil && opt.Base.Order() != order {
		return fmt.Errorf("%s is %v, what is based on it is %v; name the BTF of the kernel that it "+
			"belongs to", base, opt.Base.Order(), order)
	}
	machine := elf.Machine(units.Machine)
	if f := opt.Facts; f != nil && f.AddrSize != 0 {
		of := object.Target{AddrSize: f.AddrSize, Order: binary.LittleEndian, Machine: uint16(f.Machine)}
		if f.BigEndian {
			of.Order = binary.BigEndian
		}
		units.Order = order
		known := machine != 0 && f.Machine != 0
		if known && of != units || of.Order != order {
			return fmt.Errorf("they are for %v, the facts%s are for %v; name those of the file that they "+
				"were linked to", units, strings.TrimSuffix(" "+opt.FactsPath, " "), of)
		}
		if machine == 0 {
			machine = f.Machine
		}
	}
	if opt.Base == nil || machine == elf.EM_BPF {
		return nil
	}
	if on := elf.Machine(opt.Base.Machine()); on != 0 && machine != 0 && on != machine {
		return fmt.Errorf("%s is for %v, what is based on it is for %v; name the BTF of the kernel "+
			"that it belongs to", base, on, machine)
	}
	return nil
}
