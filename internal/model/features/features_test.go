package features

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

const defaultNames = "encode_force,var,float,decl_tag,type_tag,enum64,optimized_func," +
	"consistent_func,decl_tag_kfuncs"

func TestParse(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"", "none"},
		{"none", "none"},
		{"default", defaultNames},
		{"var", "var"},
		{"layout,var", "var,layout"},
		{"var,var", "var"},
		{"default,attributes,layout", defaultNames + ",attributes,layout"},
		{"layout,default", defaultNames + ",layout"},
		{"+reproducible_build", defaultNames + ",reproducible_build"},
		{"+layout,distilled_base", defaultNames + ",distilled_base,layout"},
		{"default,-decl_tag_kfuncs", strings.TrimSuffix(defaultNames, ",decl_tag_kfuncs")},
		{"-encode_force", strings.TrimPrefix(defaultNames, "encode_force,")},
		{"-default", "none"},
		{"var,+float", "var,float"},
		{"all", defaultNames + ",reproducible_build,global_var,attributes,true_signature"},
		{"all,-global_var,layout", defaultNames + ",reproducible_build,attributes,true_signature,layout"},
		{"var,force_cu_merging", "var"},
		{"skip_unencodable,var", "var,skip_unencodable"},
		{"force_cu_merging", "none"},
		{"+force_cu_merging", defaultNames},
		// This is the list in the scripts of Linux 7.2, without -j and other options.
		{"encode_force,var,float,enum64,decl_tag,type_tag,optimized_func,consistent_func,decl_tag_kfuncs",
			defaultNames},
	} {
		got, err := Parse(c.list)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.list, err)
			continue
		}
		if got.String() != c.want {
			t.Errorf("Parse(%q) = %s, want %s", c.list, got, c.want)
		}
		again, err := Parse(got.String())
		if err != nil || again != got {
			t.Errorf("Parse(%q) = %v, %v; want the set it was written from, %v", got.String(), again, err,
				got)
		}
	}
}

func TestParseRefusesUnknownNames(t *testing.T) {
	for _, list := range []string{"vars", "default,", ",", "+", "-", "default,+nonsense", "var none",
		" var", "++var"} {
		s, err := Parse(list)
		if err == nil {
			t.Errorf("Parse(%q) = %v, want an error", list, s)
			continue
		}
		for _, name := range names {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("Parse(%q): error %q does not list %s", list, err, name)
			}
		}
	}
}

func TestNoneStandsAlone(t *testing.T) {
	for _, list := range []string{"none,var", "default,none", "+none", "-none", "none,none"} {
		s, err := Parse(list)
		if err == nil || !strings.Contains(err.Error(), `"none" must be the only name`) {
			t.Errorf("Parse(%q) = %v, %v, want an error that says that none must be the only name",
				list, s, err)
		}
	}
}

// TestPage compares the table of docs/features.md with the features: each name is there once, and
// the table is right about what is in "default" and in "all".
func TestPage(t *testing.T) {
	page := must.Get(os.ReadFile("../../../docs/features.md"))(t)
	found := map[string][]string{}
	const cells = "(?m)^\\| `(\\w+)` \\|(?: [^|]+ \\|){3} (yes|no) \\| (yes|no) \\|$"
	for _, row := range regexp.MustCompile(cells).FindAllStringSubmatch(string(page), -1) {
		if found[row[1]] != nil {
			t.Errorf("%s is in the table twice", row[1])
		}
		found[row[1]] = row[2:]
	}
	word := map[bool]string{true: "yes", false: "no"}
	for i, name := range names {
		want := []string{word[Default().Has(1<<i)], word[PaholeAll().Has(1<<i)]}
		if !slices.Equal(found[name], want) {
			t.Errorf("%s: the table says %v, want %v", name, found[name], want)
		}
		delete(found, name)
	}
	for name := range found {
		t.Errorf("the table has %s, which isn't a feature", name)
	}
	if n := strings.Count(string(page), "`"+Merging+"`"); n != 1 {
		t.Errorf("the page names %s %d times", Merging, n)
	}
}

func TestSet(t *testing.T) {
	s := Of(Var, Layout)
	if !s.Has(Var) || !s.Has(Layout) || s.Has(Float) || s.Has(0) {
		t.Errorf("Of(Var, Layout) holds %v", s)
	}
	if got := s.With(Float).Without(Var).String(); got != "float,layout" {
		t.Errorf("with float without var: %s", got)
	}
	if Default().Has(GlobalVar) || Default().Has(TrueSignature) || !Default().Has(DeclTagKfuncs) {
		t.Errorf("default set: %v", Default())
	}
	if len(names) != len(strings.Split(All().String(), ",")) {
		t.Errorf("All() = %v, names %v", All(), names)
	}
	if Layout.String() != "layout" || EncodeForce.String() != "encode_force" {
		t.Errorf("names: %v %v", Layout, EncodeForce)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "default", "+layout,-var", "all,-all", "none", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		s, err := Parse(list)
		if err != nil {
			return
		}
		if again, err := Parse(s.String()); err != nil || again != s {
			t.Errorf("Parse(%q) = %v; its string reads back as %v, %v", list, s, again, err)
		}
	})
}

func TestNamed(t *testing.T) {
	for i, name := range names {
		if f, ok := Named(name); !ok || f != 1<<i {
			t.Errorf("Named(%q) = %v, %v", name, f, ok)
		}
	}
	for _, name := range []string{"", "none", "default", "all", "+var", "Var"} {
		if f, ok := Named(name); ok {
			t.Errorf("Named(%q) = %v", name, f)
		}
	}
}
