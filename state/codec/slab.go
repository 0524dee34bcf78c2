package codec

// slabSize is how many values are made at a time: values that few rows keep
// alive together are not worth an allocation each.
const slabSize = 64

// A slab hands out short lists that follow one another in shared room. A
// list has no room to spare, so that appending to it copies it.
type slab[T any] struct {
	room []T
	from int // where the list being gathered begins
}

func (l *slab[T]) begin() { l.from = len(l.room) }

// add makes room for one more value, which is zero.
func (l *slab[T]) add() *T {
	if len(l.room) == cap(l.room) {
		begun := l.room[l.from:]
		l.room = append(make([]T, 0, max(slabSize, 2*len(begun))), begun...)
		l.from = 0
	}
	l.room = l.room[:len(l.room)+1]
	return &l.room[len(l.room)-1]
}

// end is the list since begin.
func (l *slab[T]) end() []T {
	n := len(l.room)
	if n == l.from {
		return []T{}
	}
	return l.room[l.from:n:n]
}
