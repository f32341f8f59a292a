package dev.verbena.disni;

import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.IbvPd;
import dev.verbena.verbs.ProtectionDomain;
import java.io.IOException;

/** A protection domain. */
final class BridgePd extends IbvPd {
  private final ProtectionDomain domain;
  private final LocalKeys localKeys = new LocalKeys();

  BridgePd(IbvContext context, ProtectionDomain domain) throws IOException {
    super(context);
    this.domain = domain;
    this.handle = domain.handle();
  }

  /** Returns the domain of a call's argument. */
  static BridgePd of(IbvPd argument) throws IOException {
    BridgePd own = Failures.own(BridgePd.class, argument, "protection domain");
    Failures.requireOpen(own.isOpen(), "protection domain");
    return own;
  }

  ProtectionDomain domain() {
    return domain;
  }

  LocalKeys localKeys() {
    return localKeys;
  }

  /** Frees it, after its memory regions and queue pairs. */
  int destroy() throws IOException {
    Failures.run(domain::close);
    close();
    return 0;
  }
}
