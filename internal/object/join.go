package object

// Join is the union of parts that were made together, of one file by one converter, such as its
// threads' shares. The parts are used up: the result takes over their memory. Units of equal
// content stay apart, which means the same.
func Join(parts []*Object) (*Object, error) {
	o := parts[0]
	for _, p := range parts[1:] {
		ids, err := o.Graph.Import(p.Graph)
		if err != nil {
			return nil, err
		}
		for _, u := range p.Units {
			for i, id := range u.Items {
				u.Items[i] = ids[id]
			}
			u.File = o.Graph.Strs.Intern(p.Graph.Strs.Bytes(u.File))
			o.Units = append(o.Units, u)
		}
	}
	return o, nil
}
