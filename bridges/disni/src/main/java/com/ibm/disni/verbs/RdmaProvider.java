package com.ibm.disni.verbs;

import dev.verbena.disni.DisniProvider;
import dev.verbena.disni.Replacement;
import java.io.IOException;

/**
 * Stands before DiSNI's class of the same name, and returns Verbena's provider where DiSNI's
 * returns that of its JNI library.
 */
@Replacement
public abstract class RdmaProvider {
  private static RdmaProvider provider;

  /** For the implementation. */
  protected RdmaProvider() {}

  /**
   * Returns the provider of this JVM.
   *
   * @return Verbena's provider
   * @throws IOException if the classes of this artifact and those of DiSNI are mixed
   */
  public static synchronized RdmaProvider provider() throws IOException {
    if (provider == null) {
      provider = new DisniProvider();
    }
    return provider;
  }

  /**
   * Returns the RDMA CM.
   *
   * @return the calls of librdmacm
   * @throws IOException never
   */
  public abstract RdmaCm openCm() throws IOException;

  /**
   * Returns the verbs.
   *
   * @return the calls of libibverbs
   * @throws IOException never
   */
  public abstract RdmaVerbs openVerbs() throws IOException;

  /**
   * Returns the version of the interface between DiSNI's classes and its provider.
   *
   * @return the version
   */
  public abstract int getVersion();
}
