package dev.verbena.internal;

import static dev.verbena.internal.ErrorConvention.ERRNO;
import static dev.verbena.internal.ErrorConvention.NEVER;
import static dev.verbena.internal.ErrorConvention.NULL;

/**
 * The functions of efadv.h that {@code dev.verbena.efa} calls, with their C names. They return
 * EOPNOTSUPP for the objects of another provider.
 */
@SharedLibrary(
    soname = "libefa.so.1",
    packages = "ibverbs-providers",
    anchor = "efadv_query_device")
public interface Libefa {
  @Symbol(fails = ERRNO, since = 26)
  void efadv_query_device(long context, long attr, int inlen);

  @Symbol(fails = NULL, since = 26)
  long efadv_create_qp_ex(long context, long attrEx, long efaAttr, int inlen);

  @Symbol(fails = NULL, since = 43)
  long efadv_create_cq(long context, long attrEx, long efaAttr, int inlen);

  @Symbol(fails = NEVER, since = 43)
  long efadv_cq_from_ibv_cq_ex(long cq);

  @Symbol(fails = ERRNO, since = 26)
  void efadv_query_ah(long ah, long attr, int inlen);

  @Symbol(fails = ERRNO, since = 50)
  void efadv_query_mr(long mr, long attr, int inlen);

  /** The result is the number, or a negative errno. */
  @Symbol(fails = NEVER, since = 63)
  int efadv_get_max_sq_depth(long context, long attr, int inlen);

  /** The result is the number, or a negative errno. */
  @Symbol(fails = NEVER, since = 63)
  int efadv_get_max_rq_depth(long context, long attr, int inlen);
}
