package chart

import "math"

// axis is from least to most. A linear one begins at 0, and both end at ticks.
type axis struct {
	log         bool
	least, most float64
	step        float64 // between the ticks of a linear one
}

// axes are those on which all points have room.
func (p Curves) axes() (x, y axis) {
	x, y = axis{log: p.Log, least: math.Inf(1)}, axis{log: p.Log, least: math.Inf(1)}
	for _, curve := range p.Curves {
		for _, q := range curve.Points {
			x.least, x.most = min(x.least, q.X), max(x.most, q.X)
			y.least, y.most = min(y.least, q.Y), max(y.most, q.Y)
		}
	}
	x.round()
	y.round()
	return x, y
}

// round moves the ends to ticks.
func (a *axis) round() {
	if !a.log {
		a.least, a.most, a.step = 0, ceil(a.most), step(a.most)
		return
	}
	power := func(v float64, round func(float64) float64) float64 {
		if !(v > 0) || math.IsInf(v, 0) {
			return 1
		}
		return math.Pow(10, round(math.Log10(v)))
	}
	a.least, a.most = power(a.least, math.Floor), power(a.most, math.Ceil)
	if a.most == a.least {
		a.most *= 10
	}
}

// at is the place of a value, from 0 to 1.
func (a axis) at(v float64) float64 {
	if a.log {
		return math.Log10(v/a.least) / math.Log10(a.most/a.least)
	}
	return v / a.most
}

// ticks are the values that are written at the axis.
func (a axis) ticks() (ticks []float64) {
	if a.log {
		for v := a.least; v <= a.most*1.001; v *= 10 {
			ticks = append(ticks, v)
		}
		return ticks
	}
	for i := 0; float64(i)*a.step <= a.most; i++ {
		ticks = append(ticks, float64(i)*a.step)
	}
	return ticks
}

// ceil returns the end of an axis: the first tick at or above most.
func ceil(most float64) float64 {
	d := step(most)
	for i := 1; ; i++ {
		if v := float64(i) * d; v >= most || i >= 20 {
			return v
		}
	}
}
