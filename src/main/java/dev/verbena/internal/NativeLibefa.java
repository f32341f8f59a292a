package dev.verbena.internal;

import static dev.verbena.internal.ErrorConvention.ERRNO;
import static dev.verbena.internal.ErrorConvention.NEVER;
import static dev.verbena.internal.ErrorConvention.NULL;

/** The functions of {@link Libefa} in C. NativeFunctionsTest generates this class. */
final class NativeLibefa extends NativeFunctions implements Libefa {
  NativeLibefa(Library library) {
    super(library);
  }

  /** Loads the library. */
  static Library library() {
    return Library.of("libefa.so.1", "ibverbs-providers", "efadv_query_device");
  }

  @Override
  public void efadv_query_device(long context, long attr, int inlen) {
    symbolOfObject("efadv_query_device", 26, ERRNO, context, attr, inlen);
  }

  @Override
  public long efadv_create_qp_ex(long context, long attrEx, long efaAttr, int inlen) {
    return symbolOfObject("efadv_create_qp_ex", 26, NULL, context, attrEx, efaAttr, inlen);
  }

  @Override
  public long efadv_create_cq(long context, long attrEx, long efaAttr, int inlen) {
    return symbolOfObject("efadv_create_cq", 43, NULL, context, attrEx, efaAttr, inlen);
  }

  @Override
  public long efadv_cq_from_ibv_cq_ex(long cq) {
    return symbolOfObject("efadv_cq_from_ibv_cq_ex", 43, NEVER, cq);
  }

  @Override
  public void efadv_query_ah(long ah, long attr, int inlen) {
    symbolOfObject("efadv_query_ah", 26, ERRNO, ah, attr, inlen);
  }

  @Override
  public void efadv_query_mr(long mr, long attr, int inlen) {
    symbolOfObject("efadv_query_mr", 50, ERRNO, mr, attr, inlen);
  }

  @Override
  public int efadv_get_max_sq_depth(long context, long attr, int inlen) {
    return (int) symbolOfObject("efadv_get_max_sq_depth", 63, NEVER, context, attr, inlen);
  }

  @Override
  public int efadv_get_max_rq_depth(long context, long attr, int inlen) {
    return (int) symbolOfObject("efadv_get_max_rq_depth", 63, NEVER, context, attr, inlen);
  }
}
