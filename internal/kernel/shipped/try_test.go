package shipped

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestTry(t *testing.T) {
	in := strings.Fields(os.Getenv("TRY"))
	if len(in) == 0 {
		t.Skip()
	}
	s := time.Now()
	f, err := Find(in, Options{Jobs: 2})
	fmt.Println(time.Since(s))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range f.Kernels {
		fmt.Printf("%+v\n", *k)
	}
	n := map[string]int{}
	for _, m := range f.Modules {
		k := f.KernelOf(m)
		v := k.Load(m)
		n[v.Outcome.String()]++
		if v.Why != "" && n[v.Outcome.String()] < 20 {
			fmt.Println(v.Outcome, m.Path, v.Why)
		}
	}
	fmt.Println(n, len(f.Modules), time.Since(s))
}
