package dev.verbena.disni;

import com.ibm.disni.verbs.RdmaCm;
import com.ibm.disni.verbs.RdmaProvider;
import com.ibm.disni.verbs.RdmaVerbs;
import java.io.IOException;

/**
 * DiSNI's provider over Verbena: what {@code RdmaProvider.provider()} returns.
 *
 * <p>Nothing has to be called if this artifact is before DiSNI on the class path, or the agent of
 * the JVM: {@code -javaagent:verbena-disni.jar}. {@link ReplacedClasses#install} replaces either.
 */
public final class DisniProvider extends RdmaProvider {
  /** The version of the interface of DiSNI 2.1's JNI library. */
  private static final int VERSION = 32;

  private final RdmaCm cm = new BridgeCm();
  private final RdmaVerbs verbs = new BridgeVerbs();

  /**
   * Creates the provider. Programs call {@link RdmaProvider#provider}.
   *
   * @throws IOException if a class that this artifact replaces is DiSNI's
   */
  public DisniProvider() throws IOException {
    ReplacedClasses.check();
  }

  @Override
  public RdmaCm openCm() {
    return cm;
  }

  @Override
  public RdmaVerbs openVerbs() {
    return verbs;
  }

  @Override
  public int getVersion() {
    return VERSION;
  }
}
