package object

import "testing"

func BenchmarkFromBTF(b *testing.B) {
	blob := runningKernel(b)
	for b.Loop() {
		fromBTF(b, blob)
	}
}

func BenchmarkWrite(b *testing.B) {
	o := fromBTF(b, runningKernel(b))
	for b.Loop() {
		write(b, o)
	}
}

func BenchmarkRead(b *testing.B) {
	data := write(b, fromBTF(b, runningKernel(b)))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Read(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	o := fromBTF(b, runningKernel(b))
	for b.Loop() {
		if _, err := Merge(o, o); err != nil {
			b.Fatal(err)
		}
	}
}
