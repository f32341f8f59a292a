/**
 * The C interface as it is: what {@code infiniband/verbs.h}, {@code rdma/rdma_cma.h} and {@code
 * rdma/rdma_verbs.h} of rdma-core 65 declare, written by jextract and never edited by hand.
 *
 * <ul>
 *   <li>{@link dev.verbena.raw.rdma_h} has the constants, and every struct and union has a class of
 *       its own. They load where neither library is installed, and where native access is denied.
 *   <li>{@link dev.verbena.raw.libibverbs} and {@link dev.verbena.raw.librdmacm} have the exported
 *       functions of one library each. Their first use loads that library, and needs native access.
 *   <li>The functions that C inlines from the headers, {@code ibv_post_send} or {@code ibv_poll_cq},
 *       have no symbol and are not here.
 * </ul>
 *
 * <p>Layouts and offsets are those of x86-64. On aarch64 {@code pthread_mutex_t} is larger, which
 * moves what follows a mutex in {@code ibv_context}, {@code ibv_cq}, {@code ibv_qp}, {@code ibv_srq},
 * {@code ibv_wq} and the structs that hold these: there the accessors of such fields do not apply.
 *
 * <p>A pointer that a getter or a function returns is a {@link java.lang.foreign.MemorySegment} of
 * length 0: to read what it points to, a caller needs {@code MemorySegment.reinterpret}, and native
 * access of its own.
 *
 * <p>Nothing here checks its arguments: a wrong one can crash the JVM. The rest of Verbena exists so
 * that nobody has to call this package.
 *
 * <p>The headers are under GPL-2.0 or the OpenIB.org BSD licence, at the user's choice; Verbena takes
 * the latter, whose text the {@code NOTICE} file holds.
 */
package dev.verbena.raw;
