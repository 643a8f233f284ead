package measure

import (
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []time.Duration
		want time.Duration
	}{
		{[]time.Duration{7}, 7},
		{[]time.Duration{1, 3}, 2},
		{[]time.Duration{1, 2, 90}, 2},
		{[]time.Duration{1, 2, 4, 90}, 3},
	} {
		if got := Median(c.in); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.in, got, c.want)
		}
	}
}

func TestAlternate(t *testing.T) {
	calls := 0
	series, err := Alternate(2, []Command{
		{"quick", []string{"true"}},
		{"slow", []string{"sleep", "0.05"}},
	}, func() error { calls++; return nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if calls != 6 || len(series[0].Runs) != 2 || len(series[1].Runs) != 2 {
		t.Errorf("%d calls, %d and %d runs; want 6, 2 and 2", calls, len(series[0].Runs),
			len(series[1].Runs))
	}
	quick, _, _ := series[0].Wall()
	slow, least, _ := series[1].Wall()
	if quick >= slow || least < 50*time.Millisecond {
		t.Errorf("true took %v, sleep 0.05 took %v", quick, slow)
	}
	if series[0].Peak() <= 0 {
		t.Errorf("peak memory is %d", series[0].Peak())
	}
	if _, err := Alternate(1, []Command{{"broken", []string{"false"}}}, func() error { return nil },
		nil); err == nil {
		t.Error("a command that fails was measured")
	}
}

func TestSum(t *testing.T) {
	a := Series{Runs: []Run{{Wall: 1, CPU: 2, Peak: 30}, {Wall: 3, CPU: 3, Peak: 3}}}
	b := Series{Runs: []Run{{Wall: 10, CPU: 20, Peak: 4}, {Wall: 20, CPU: 10, Peak: 5}}}
	s := Sum("both", a, b)
	if s.Runs[0] != (Run{Wall: 11, CPU: 22, Peak: 30}) ||
		s.Runs[1] != (Run{Wall: 23, CPU: 13, Peak: 5}) || len(s.Runs) != 2 {
		t.Errorf("the sum is %+v", s.Runs)
	}
}
