package scale

import (
	"math"
	"slices"
)

// Sample is one measured run of an action.
type Sample struct {
	In, Out int64 // bytes
	Inputs  int   // files
	CPU     float64
	Memory  int64
}

// Fit is the cost that has the least squares of relative errors. A sample of a large file then
// counts no more than one of a small file. perInput tells whether the number of inputs matters.
func Fit(samples []Sample, perInput bool) Cost {
	c := Cost{Samples: len(samples)}
	c.CPU = fitLine(samples, perInput, func(s Sample) float64 { return s.CPU })
	c.Memory = fitLine(samples, false, func(s Sample) float64 { return float64(s.Memory) })
	c.Out = fitPower(samples, perInput)
	var predicted, measured float64
	var errors []float64
	for _, s := range samples {
		p := c.CPU.At(s.In, s.Inputs)
		predicted, measured = predicted+p, measured+s.CPU
		errors = append(errors, math.Abs(p-s.CPU)/s.CPU)
	}
	slices.Sort(errors)
	if len(errors) > 0 {
		c.Sum, c.Median = (predicted-measured)/measured, errors[len(errors)/2]
	}
	return c
}

// fitLine fits a line without negative coefficients: one that would be negative is left out.
func fitLine(samples []Sample, perInput bool, value func(Sample) float64) Line {
	unit := 1e-9 // so that the numbers are near 1
	for _, s := range samples {
		unit = max(unit, value(s))
	}
	use := []int{0, 1}
	if perInput {
		use = append(use, 2)
	}
	for {
		found := solve(samples, use, func(s Sample) float64 { return value(s) / unit })
		i := slices.IndexFunc(use, func(k int) bool { return found[k] < 0 })
		if i < 0 {
			return Line{found[0] * unit, found[1] * unit, found[2] * unit}
		}
		use = slices.Delete(use, i, i+1)
	}
}

// solve is the normal equations of the coefficients in use, divided by the values.
func solve(samples []Sample, use []int, value func(Sample) float64) (found [3]float64) {
	n := len(use)
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n+1)
	}
	for _, s := range samples {
		y := value(s)
		if y <= 0 {
			continue
		}
		x := [3]float64{1 / y, float64(s.In) / 1e6 / y, float64(s.Inputs-1) / y}
		for i, a := range use {
			for j, b := range use {
				rows[i][j] += x[a] * x[b]
			}
			rows[i][n] += x[a]
		}
	}
	for i := range n { // elimination; the matrix is symmetric and not negative
		if rows[i][i] <= 1e-12 {
			continue
		}
		for k := range n {
			if k == i {
				continue
			}
			f := rows[k][i] / rows[i][i]
			for j := i; j <= n; j++ {
				rows[k][j] -= f * rows[i][j]
			}
		}
	}
	for i, k := range use {
		if rows[i][i] > 1e-12 {
			found[k] = rows[i][n] / rows[i][i]
		}
	}
	return found
}

// fitPower fits a line, or if the number of inputs matters a plane, to the logarithms.
func fitPower(samples []Sample, perInput bool) Power {
	var n, x, y, z, xx, xy, xz, yz, zz float64 // sums: bytes read, written, files
	for _, s := range samples {
		if s.In <= 0 || s.Out <= 0 {
			continue
		}
		a, b, c := math.Log(float64(s.In)), math.Log(float64(s.Out)), math.Log(float64(s.Inputs))
		n, x, y, z = n+1, x+a, y+b, z+c
		xx, xy, xz, yz, zz = xx+a*a, xy+a*b, xz+a*c, yz+b*c, zz+c*c
	}
	if n == 0 {
		return Power{}
	}
	// From here on, of the differences from the means.
	least := 1e-9 * xx
	x, y, z = x/n, y/n, z/n
	xx, xy, xz, yz, zz = xx-n*x*x, xy-n*x*y, xz-n*x*z, yz-n*y*z, zz-n*z*z
	p := Power{Exponent: 1} // of one size: in proportion
	if det := xx*zz - xz*xz; perInput && det > 1e-6*xx*zz {
		p.Exponent, p.Files = (xy*zz-yz*xz)/det, (yz*xx-xy*xz)/det
	} else if xx > least {
		p.Exponent = xy / xx
	}
	p.Factor = math.Exp(y - p.Exponent*x - p.Files*z)
	return p
}
