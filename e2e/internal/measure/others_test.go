package measure

import (
	"os/exec"
	"testing"
	"time"
)

func TestParseBusy(t *testing.T) {
	for _, c := range []struct {
		stat string
		want time.Duration
	}{
		// idle (4th), iowait (5th) and guests (9th, 10th) don't count.
		{"cpu  100 20 3 1000 1000 4 50 6 7 8\ncpu0 1 1 1 1 1 1 1 1 1 1\n", 1830 * time.Millisecond},
		{"cpu  100 20\n", 0},
		{"", 0},
	} {
		if got := parseBusy(c.stat); got != c.want {
			t.Errorf("parseBusy(%q) = %v, want %v", c.stat, got, c.want)
		}
	}
}

// TestOthers lets another process work while a command sleeps.
func TestOthers(t *testing.T) {
	if busy() == 0 {
		t.Skip("no /proc/stat")
	}
	other := exec.Command("sh", "-c", "while :; do :; done")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	r, err := Once(Command{"sleep", []string{"sleep", "0.5"}})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Disturbed() {
		t.Errorf("others used %v in %v, which doesn't count as disturbed", r.Others, r.Wall)
	}
}

func TestPatience(t *testing.T) {
	var none *Patience
	if none.again(Run{}) {
		t.Error("no patience, but the run is repeated")
	}
	p := &Patience{Left: pause + time.Second}
	if p.again(Run{Wall: 2 * time.Second}) {
		t.Error("a run is repeated that takes longer than there is patience for")
	}
	if !p.again(Run{Wall: time.Second}) || p.Left != 0 {
		t.Errorf("the run isn't repeated although there is time; %v is left", p.Left)
	}
}
