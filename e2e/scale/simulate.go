package scale

import "container/heap"

// Executors are what actions run on.
type Executors struct {
	Count     int     // each runs one action at a time
	Overhead  float64 // seconds that an action takes besides its processor time
	Client    float64 // seconds that Bazel takes for an action, one after the other
	Bandwidth float64 // bytes a second between an executor and the cache; 0 for no copies
}

// Result is what a simulated build takes.
type Result struct {
	Actions  int
	Wall     float64 // seconds
	CPU      float64 // seconds of the tools
	Critical float64 // seconds of the longest path, which no number of executors makes shorter
	Moved    int64   // bytes to and from executors
	Memory   float64 // of the largest action
}

// Simulate runs those of the actions for which runs is true; the outputs of the others are in the
// cache. An executor takes the action that has been ready for longest; of several, the first in the
// graph. A file stays on an executor that has had it, if other actions read it.
func (g *Graph) Simulate(e Executors, runs func(*Action) bool) Result {
	s := &simulation{executors: e, waits: make([]int, len(g.Actions)),
		followers: make([][]*Action, len(g.Actions)), cached: make([]map[*File]bool, e.Count)}
	var r Result
	path := make([]float64, len(g.Actions))
	for _, a := range g.Actions {
		if !runs(a) {
			continue
		}
		longest := 0.0
		for _, f := range a.Inputs {
			if f.By != nil && runs(f.By) {
				s.waits[a.order]++
				s.followers[f.By.order] = append(s.followers[f.By.order], a)
				longest = max(longest, path[f.By.order])
			}
		}
		path[a.order] = longest + e.Overhead + a.Seconds + e.copying(copiedFor(a))
		r.Critical = max(r.Critical, path[a.order])
		r.Actions, r.CPU, r.Memory = r.Actions+1, r.CPU+a.Seconds, max(r.Memory, a.Memory)
		if s.waits[a.order] == 0 {
			s.ready = append(s.ready, a)
		}
	}
	s.run()
	r.Wall, r.Moved = s.now, s.moved
	return r
}

// copiedFor is what an action writes, and reads on an executor that has all files that others read.
func copiedFor(a *Action) int64 {
	n := a.Output.Bytes
	for _, f := range a.Inputs {
		if f.users == 1 {
			n += f.Bytes
		}
	}
	return n
}

func (e *Executors) copying(bytes int64) float64 {
	if e.Bandwidth == 0 {
		return 0
	}
	return float64(bytes) / e.Bandwidth
}

// simulation is the state at a time.
type simulation struct {
	executors Executors
	waits     []int       // by action, how many inputs are not there
	followers [][]*Action // by action, who reads its output
	cached    []map[*File]bool

	ready   []*Action // in the order in which they became ready
	idle    []int     // executors
	running ends
	now     float64
	client  float64 // when the client has time again
	moved   int64
}

func (s *simulation) run() {
	for i := s.executors.Count - 1; i >= 0; i-- {
		s.idle = append(s.idle, i)
		s.cached[i] = map[*File]bool{}
	}
	for len(s.ready) > 0 || len(s.running) > 0 {
		for len(s.ready) > 0 && len(s.idle) > 0 {
			s.start(s.ready[0])
			s.ready = s.ready[1:]
		}
		next := heap.Pop(&s.running).(end)
		s.now = next.at
		s.idle = append(s.idle, next.executor)
		for _, a := range s.followers[next.action.order] {
			if s.waits[a.order]--; s.waits[a.order] == 0 {
				s.ready = append(s.ready, a)
			}
		}
	}
}

// start begins an action on an idle executor.
func (s *simulation) start(a *Action) {
	executor := s.idle[len(s.idle)-1]
	s.idle = s.idle[:len(s.idle)-1]
	begin := max(s.now, s.client) + s.executors.Client
	s.client = begin
	bytes := a.Output.Bytes
	cached := s.cached[executor]
	for _, f := range a.Inputs {
		if !cached[f] {
			bytes += f.Bytes
		}
		if f.users > 1 {
			cached[f] = true
		}
	}
	seconds := s.executors.Overhead + a.Seconds
	if s.executors.Bandwidth > 0 {
		s.moved += bytes
		seconds += s.executors.copying(bytes)
	}
	heap.Push(&s.running, end{begin + seconds, executor, a})
}

// end is the end of a running action.
type end struct {
	at       float64
	executor int
	action   *Action
}

// ends is a heap by time, and of one time by the action's place in the graph.
type ends []end

func (e ends) Len() int { return len(e) }
func (e ends) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].action.order < e[j].action.order
}
func (e ends) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)   { *e = append(*e, x.(end)) }
func (e *ends) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}
