package offer

// JobMarks are in a command where values go that are known when the job starts, by
// their names below job. That of the rank is a variable of each process that a
// launcher starts.
var JobMarks = map[string]string{
	"hosts":  "@MUSTER_HOSTS@",  // names of the job's nodes, with commas between
	"master": "@MUSTER_MASTER@", // name of the first
	"nodes":  "@MUSTER_NODES@",  // how many there are
	"port":   "@MUSTER_PORT@",   // one of the first node's on which nothing listens as far as is known
	"rank":   "${MUSTER_RANK}",
}
