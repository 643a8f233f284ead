package kabi

import "testing"

// TestMacros has rows for the macros with which distributions keep their kABI stable.
func TestMacros(t *testing.T) {
	const f = "void f(struct s *s) {}"
	for _, c := range []struct{ name, a, b, want string }{
		{"reserved space in use", "struct s { long __kabi_reserved_0, __kabi_reserved_1; };" + f,
			"struct s { union { long __kabi_reserved_0; struct { int a, b; }; }; long x; };" + f, `
			struct s: ok (1: f → struct s)
			ok moved member __kabi_reserved_0: same offset
			ok added member a: in reserved space
			ok added member b: in reserved space
			ok renamed member __kabi_reserved_1: only the name differs`},
		{"reserved space of RHEL", "struct s { long x; unsigned long rh_reserved1; };" + f,
			"struct s { long x; union { int n; struct { unsigned long rh_reserved1; } rh_kabi_hidden_7;" +
				" union { }; }; };" + f, `
			struct s: ok (1: f → struct s)
			ok removed member rh_reserved1: reserved space, which nobody uses
			ok added member n: in reserved space
			ok added member rh_kabi_hidden_7: in reserved space`},
		{"reserved space of Android", "struct s { long x; unsigned long android_kabi_reserved1; };" + f,
			"struct s { long x; union { char *n; struct { unsigned long android_kabi_reserved1; };" +
				" union { }; }; };" + f, `
			struct s: ok (1: f → struct s)
			ok added member n: in reserved space
			ok moved member android_kabi_reserved1: same offset`},
		{"data of vendors", "struct s { long x; unsigned long android_vendor_data1; };" + f,
			"struct s { long x; int n; };" + f, `
			struct s: breaks (1: f → struct s)
			breaks removed member android_vendor_data1: gone
			ok added member n: in the place of android_vendor_data1`},
		{"RH_KABI_REPLACE", "struct s { long a, x; };" + f,
			"struct s { long a; union { char *x; struct { long x; } __UNIQUE_ID_rh_kabi_hide1; }; };" +
				f, `
			struct s: ok (1: f → struct s)
			ok retyped member x: the original is kept as x
			ok moved member x: same offset
			ok added member __UNIQUE_ID_rh_kabi_hide1: in the place of x`},
		{"RH_KABI_REPLACE undone",
			"struct s { long a; union { char *x; struct { long x; } rh_kabi_hidden_7; }; };" + f,
			"struct s { long a; char *x; };" + f, `
			struct s: ok (1: f → struct s)
			ok moved member x: same offset
			ok removed member rh_kabi_hidden_7: reserved space, which nobody uses`},
		{"RH_KABI_DEPRECATE",
			"struct s { long a, x; };" + f, "struct s { long a, rh_reserved_x; };" + f, `
			struct s: ok (1: f → struct s)
			ok renamed member x: only the name differs`},
		{"KABI_REPLACE", "struct s { long a, x; };" + f,
			"struct s { long a; union { long __kabi_renamedx; struct { char *n; }; }; };" + f, `
			struct s: ok (1: f → struct s)
			ok removed member x: the original is kept as __kabi_renamedx
			ok added member __kabi_renamedx: in the place of x
			ok added member n: in the place of x`},
		{"KABI_REPLACE of another type", "struct s { long a, x; };" + f,
			"struct s { long a; union { int __kabi_renamedx; char *n; }; };" + f, `
			struct s: breaks (1: f → struct s)
			breaks removed member x: gone
			ok added member __kabi_renamedx: in the place of x
			ok added member n: in the place of x`},
		{"KABI_IGNORE", "struct s { int a; long b; };" + f,
			"struct s { int a; union { int n; unsigned char __kabi_ignored1; }; long b; };" + f, `
			struct s: ok (1: f → struct s)
			ok added member n: in a hole
			ok added member __kabi_ignored1: reserved space`},
	} {
		checkRule(t, c.name, c.a, c.b, c.want)
	}
}
