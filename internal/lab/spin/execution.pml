/*
 * The machine of specs/execution.yaml, written by hand for Spin: one job, EXECS
 * executions at most, WORKERS workers, and an environment that does anything at
 * any time. Nothing in it was generated, so that it can disagree.
 *
 *   spin -a execution.pml && gcc -DSAFETY -DBFS -o pan pan.c && ./pan
 *
 * A macro takes a safeguard away:
 *   -DNO_UNIQUE_LEASE      one_lease_per_job
 *   -DNO_UNIQUE_COMMITTED  one_committed_per_job
 *   -DNO_GUARD_LEASED      job_not_leased
 *   -DNO_GUARD_COMMITTED   job_not_committed
 *   -DNO_ATTEMPTS          attempts_left
 *   -DNO_LEASE_GUARDS      holds_lease and lease_live
 *   -DEXTERNAL             the effect is outside the transaction, and once is demanded
 *
 * Each step is one transaction of the store. Time is one bit per lease: it may
 * end at any moment. A worker that stops for ever takes no further step, which
 * the choice of steps contains.
 */

#ifndef EXECS
#define EXECS 5
#endif
#ifndef WORKERS
#define WORKERS 2
#endif

#define NONE        0
#define LEASED      1
#define IN_PROGRESS 2
#define COMMITTED   3
#define DONE        4
#define ABORTED     5

typedef execution {
	byte state;
	byte owner;
	bit live;     /* the lease has not ended */
	bit started;  /* started_at is present */
#ifdef EXTERNAL
	bit waits     /* the effect is still to be performed and recorded */
#endif
}

execution e[EXECS];
byte made;    /* executions that exist: the others are NONE */
byte effects; /* how often the effect of the job was applied */
byte k;       /* counts, and is 0 between steps */
byte n;

/* how many executions but this one are in one of two states */
inline others(self, a, b) {
	n = 0;
	k = 0;
	do
	:: k < made ->
		if
		:: k != self && (e[k].state == a || e[k].state == b) -> n++
		:: else
		fi;
		k++
	:: else -> break
	od;
	k = 0
}

inline apply_effect() {
	effects++;
	assert(effects <= 1) /* INV_001: the effect of a job happens once */
}

/* what the store refuses by an index is no step at all */
inline lease(w) {
	bit ok = 1;
	others(EXECS, COMMITTED, DONE);
#ifndef NO_GUARD_COMMITTED
	if :: n > 0 -> ok = 0 :: else fi;
#endif
	others(EXECS, LEASED, IN_PROGRESS);
#ifndef NO_GUARD_LEASED
	if :: n > 0 -> ok = 0 :: else fi;
#endif
#ifndef NO_UNIQUE_LEASE
	if :: n > 0 -> ok = 0 :: else fi;
#endif
	others(EXECS, ABORTED, ABORTED);
#ifndef NO_ATTEMPTS
	if :: n >= 5 -> ok = 0 :: else fi;
#endif
	n = 0;
	if
	:: ok ->
		e[made].state = LEASED;
#ifndef NO_LEASE_GUARDS
		e[made].owner = w; /* without the guards nobody looks at it */
#endif
		e[made].live = 1;
		made++
	:: else
	fi;
	ok = 0
}

inline start(i, w) {
	bit may = 1;
#ifndef NO_LEASE_GUARDS
	if :: e[i].owner != w || !e[i].live -> may = 0 :: else fi;
#endif
#ifndef NO_UNIQUE_LEASE
	others(i, LEASED, IN_PROGRESS);
	if :: n > 0 -> may = 0 :: else fi;
	n = 0;
#endif
	if
	:: may -> e[i].state = IN_PROGRESS; e[i].started = 1
	:: else
	fi;
	may = 0
}

inline commit(i, w) {
	bit can = 1;
#ifndef NO_LEASE_GUARDS
	if :: e[i].owner != w || !e[i].live -> can = 0 :: else fi;
#endif
#ifndef NO_UNIQUE_COMMITTED
	others(i, COMMITTED, DONE);
	if :: n > 0 -> can = 0 :: else fi;
	n = 0;
#endif
	if
	:: can ->
		e[i].state = COMMITTED;
#ifdef EXTERNAL
		e[i].waits = 1
#else
		apply_effect()
#endif
	:: else
	fi;
	can = 0
}

active proctype environment() {
	byte i;
	byte w;
end:	do
	:: atomic { made < EXECS ->
		select(w : 1 .. WORKERS);
		lease(w);
		w = 0 }
	:: atomic { made > 0 ->
		select(i : 0 .. (made - 1));
		select(w : 1 .. WORKERS);
		if
		:: e[i].state == LEASED -> start(i, w)
		:: e[i].state == IN_PROGRESS -> commit(i, w)
		/* finish, by the worker, or reconcile, by recovery */
		:: e[i].state == COMMITTED -> e[i].state = DONE
		/* expire, by the system, once the lease is over */
		:: (e[i].state == LEASED || e[i].state == IN_PROGRESS) && !e[i].live -> e[i].state = ABORTED
		/* the lease ends */
		:: e[i].live -> e[i].live = 0
#ifdef EXTERNAL
		/* performed; the worker may die before it says so */
		:: e[i].waits -> apply_effect()
		:: e[i].waits && effects > 0 -> e[i].waits = 0
#endif
		:: else
		fi;
		i = 0;
		w = 0 }
	od
}
