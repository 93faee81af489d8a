/* Built from page/ by `npm run build`: do not edit. */
"use strict";(()=>{var x=["A","B","C"],L="layoutprobe.kernel/1";function V(t){let e=atob(t),n=new Uint8Array(e.length);for(let r=0;r<e.length;r++)n[r]=e.charCodeAt(r);return n}function O(t){let e=V(t),n=new DataView(e.buffer),r=new Float32Array(e.length/4);for(let o=0;o<r.length;o++)r[o]=n.getFloat32(4*o,!0);return r}function N(t,e){let n=V(t);return Uint8Array.from({length:e},(r,o)=>(n[o>>3]??0)>>(o&7)&1)}function s(t,e={},...n){return oe(document.createElement(t),e,n)}function oe(t,e,n){for(let[r,o]of Object.entries(e))o===void 0||o===!1||(typeof o=="function"?t.addEventListener(r.slice(2),o):t.setAttribute(r,o===!0?"":String(o)));return t.append(...n.filter(r=>!!r)),t}function S(t,e,n,r=""){return s("button",{type:"button","aria-pressed":String(e),title:r||void 0,onclick:n},t)}function $(t,e,n){let r=s("div",{class:"scroll"}),o=s("details",{class:"behind"},s("summary",{},t),r);return o.addEventListener("toggle",()=>{if(!o.open||r.childElementCount)return;let a=s("tr",{},...e.map(u=>s("th",{scope:"col"},u))),d=[...n()].map(([u,...i])=>s("tr",{},s("th",{scope:"row"},u??""),...i.map(l=>s("td",{},l))));r.append(s("table",{},s("thead",{},a),s("tbody",{},...d)))}),o}function z(t){let{findings:e}=t.model.data;return s("div",{class:"findings"},...e.map((n,r)=>{let{file:o,line:a}=n.place,d=ae(t,n),u=x.find(l=>l===n.place.matrix),i=n.lines.flatMap(([l,c])=>[s("dt",{},l),s("dd",{},s("code",{},c))]);return s("div",{class:"card finding"},s("span",{class:"place"},o===void 0?"":`${o}:${a}`),s("h3",{},`Finding ${r+1} of ${e.length}: ${n.rule}`),s("p",{},n.what),s("p",{class:"go"},d&&s("button",{type:"button",onclick:()=>t.goto(d,{slot:null,...u&&{matrix:u}})},"show its slots"),o!==void 0&&a!==void 0&&s("button",{type:"button",onclick:()=>t.set({line:{file:o,line:a}})},"show its line")),s("details",{},s("summary",{},"in full"),s("dl",{},...i)))}))}function ae(t,e){let n=x.find(l=>l===e.place.matrix),r=new Set([e.place,...e.related.map(({place:l})=>l)].map(({pc:l})=>l)),o=[...t.model.every].flat().filter(l=>(n===void 0?l.wrong:l.operands[n]?.anyWrong)??!1),a=o.filter(l=>r.has(t.model.site(l.site)?.place.pc)),{wave:d,workgroup:u}=e.place,i=t.model.groupNumber(u);return a.find(l=>l.wave===d&&l.group===i)??a[0]??o[0]}var T=class{constructor(e,n){this.moments=e;this.at=n}moments;at;value(e){return this.moments.rows[e][this.at]??0}layout(e){let n=this.moments.layouts[this.value(e)];if(n===void 0)throw new Error(`layout ${this.value(e)} is missing`);return n}get matrix(){return x[this.value("matrix")]??"A"}get site(){return this.value("site")}get iteration(){return this.value("iteration")}get group(){return this.value("group")}get wave(){return this.value("wave")}get product(){return this.value("product")}get axes(){return this.layout("held").axes}get bits(){return this.layout("held").bits}get slots(){return this.layout("held").row.length}element(e,n){let r=this.layout(e),o=r.row[n]??-1;if(o<0)return null;let a=[this.value(`${e}_row`),this.value(`${e}_col`)];return{row:a[0]+o,col:a[1]+(r.col[n]??0)}}held(e){return this.element("held",e)}needed(e){return this.element("needed",e)}wrong(e){return this.moments.masks[this.value("wrong")]?.charAt(e)==="1"}live(e){return this.moments.masks[this.value("live")]?.charAt(e)==="1"}get anyWrong(){return this.moments.masks[this.value("wrong")]?.includes("1")??!1}get countWrong(){return[...this.moments.masks[this.value("wrong")]??""].filter(e=>e==="1").length}slot(e){let[,n,r]=this.axes,o=Math.floor(e/r);return{matrix:this.matrix,lane:Math.floor(o/n),vgpr:o%n,field:e%r}}flat(e){let[,n,r]=this.axes;return(e.lane*n+e.vgpr)*r+e.field}},E=(t,e)=>`${t}/${e}`,A=class{constructor(e){this.data=e;let{rows:n,groups:r}=e.moments,o=new Map;for(let a=0;a<n.group.length;a++){let d=`${n.group[a]}/${n.wave[a]}/${n.turn[a]}`,u=new T(e.moments,a),i=o.get(d)??{operands:{},turn:n.turn[a]};i.operands[u.matrix]=u,o.set(d,i)}for(let{operands:a,turn:d}of o.values()){let u=a.A??a.B??a.C;if(u===void 0)continue;let{group:i,wave:l,site:c,iteration:p}=u,g=x.some(m=>a[m]?.anyWrong),h={group:i,wave:l,site:c,iteration:p,turn:d,operands:a,wrong:g},y=this.byWave.get(E(i,l));y===void 0?this.byWave.set(E(i,l),[h]):y.push(h)}for(let a of this.byWave.values())a.sort((d,u)=>d.turn-u.turn);this.waves=r.map((a,d)=>[...this.byWave.values()].flatMap(i=>i[0]?.group===d?[i[0].wave]:[]).sort((i,l)=>i-l));for(let{site:a,matrix:d,kind:u,first:i,count:l}of e.moments.registers)this.registers.set(`${a}/${d}`,{kind:u,first:i,count:l})}data;byWave=new Map;registers=new Map;waves;steps(e,n){return this.byWave.get(E(e,n))??[]}get every(){return this.byWave.values()}site(e){return this.data.sites[e]}register(e,n,r,o){let a=this.registers.get(`${e}/${n}`),d=a?.kind==="AccVGPR"?"a":"v",u=(a?.first??0)+r*Math.max(1,o/32);return o>32?`${d}[${u}:${u+1}]`:`${d}${u}`}groupName(e){return`(${(this.data.moments.groups[e]??[]).join(", ")})`}groupNumber(e){return this.data.moments.groups.findIndex(n=>e?.every((r,o)=>r===n[o])??!1)}makers(e,n){let r=new Map;for(let o of this.byWave.values())for(let a of o){let d=a.operands.C;if(d===void 0||d.product!==n)continue;let u=se(d,e);if(u<0)continue;let i=d.slot(u),l=`${E(a.group,a.wave)}/${a.site}/${u}`,c=r.get(l)??{steps:[],slot:i,belongs:d.needed(u)};c.steps.push(a),r.set(l,c)}return[...r.values()]}contributions(e,n){let r=e.belongs??n;return e.steps.flatMap(o=>{let{A:a,B:d}=o.operands;if(a===void 0||d===void 0)return[];let u=new Map(F(d,i=>i.col===r.col).map(([i,l])=>[l.row,i]));return F(a,i=>i.row===r.row).flatMap(([i,l])=>{let c=u.get(l.col);return c===void 0?[]:{step:o,k:l.col,a:a.slot(i),b:d.slot(c),heldA:a.held(i),heldB:d.held(c),right:!a.wrong(i)&&!d.wrong(c)}})})}};function se(t,e){for(let n=0;n<t.slots;n++){let r=t.held(n);if(r?.row===e.row&&r.col===e.col)return n}return-1}function F(t,e){let n=new Map;for(let r=0;r<t.slots;r++){let o=t.needed(r);if(o===null||!t.live(r)||!e(o))continue;let a=t.matrix==="A"?o.col:o.row;n.has(a)||n.set(a,[r,o])}return[...n.values()].sort((r,o)=>r[0]-o[0])}function B(t,e,n){return e===1?"":e===2?t===0?"lo":"hi":`${(t+1)*n-1}:${t*n}`}function w(t,e){return e===null?"no element":`${t}[${e.row}][${e.col}]`}var le=[["both","held beside needed"],["held","held"],["needed","needed"]];function P(t){let e=s("div",{class:"choices",role:"group","aria-label":"matrix"}),n=s("div",{class:"choices",role:"group","aria-label":"what is shown"}),r=s("div",{class:"scroll fragment"}),o=s("h2",{}),a=s("p",{class:"says","aria-live":"polite"}),d=s("p",{class:"legend"});return t.watch(()=>{let{state:u}=t;e.replaceChildren(...x.map(l=>{let c=S(l,l===u.matrix,()=>t.set({matrix:l,slot:null}));return c.classList.toggle("bad",t.step?.operands[l]?.anyWrong??!1),c})),n.replaceChildren(...le.map(([l,c])=>S(c,l===u.shown,()=>t.set({shown:l}))));let i=t.step?.operands[u.matrix];if(o.textContent=`Operand ${u.matrix}`,i===void 0){r.replaceChildren(s("p",{},t.model.site(t.step?.site??-1)?.lost||"not followed"));return}o.textContent+=` in ${ie(t,i)}`,ue(t,i,r),a.replaceChildren(...ge(t,i,u.slot)),d.replaceChildren(...be(i,u.matrix))}),s("section",{class:"operand panel","aria-label":"operand"},s("header",{},o,e,n),a,r,d)}function ie(t,e){let n=e.axes[1]-1,r=o=>t.model.register(e.site,e.matrix,o,e.bits);return n>0?`${r(0)} to ${r(n)}`:r(0)}function de(t){let e=new Set;for(let n=0;n<t.slots;n++)for(let r of[t.held(n),t.needed(n)])r!==null&&e.add(_(t.matrix,r));return new Map([...e].sort((n,r)=>n-r).map((n,r)=>[n,r]))}var _=(t,e)=>t==="B"?e.col:e.row;function ue(t,e,n){let{state:r}=t,[o,a,d]=e.axes,u=de(e),i=r.slot?.matrix===e.matrix?e.flat(r.slot):-1,l=i<0?null:e.held(i),c=s("table",{role:"grid","aria-label":`operand ${e.matrix}, lanes by registers`,onkeydown:h=>me(t,e,h),onclick:h=>{let y=h.target.closest("td");y?.dataset.slot!==void 0&&t.set({slot:e.slot(Number(y.dataset.slot))})}});c.append(ce(t,e));let p=s("tbody");for(let h=0;h<o;h++){let y=s("tr",{},s("th",{scope:"row"},String(h)));for(let m=0;m<a*d;m++){let f=h*a*d+m,b=pe(e,f,r.shown,u);b.tabIndex=f===Math.max(i,0)?0:-1,d>1&&m%d===0&&b.classList.add("first");let v=e.held(f);l!==null&&v?.row===l.row&&v.col===l.col&&b.classList.add("same"),f===i&&b.classList.add("chosen"),b.setAttribute("aria-selected",String(f===i)),y.append(b)}p.append(y)}c.append(p);let g=n.contains(document.activeElement);n.replaceChildren(c),g&&c.querySelector("td[tabindex='0']")?.focus({preventScroll:!1})}function ce(t,e){let[,n,r]=e.axes,o=Array.from({length:n},(u,i)=>s("th",{scope:"colgroup",colspan:r},t.model.register(e.site,e.matrix,i,e.bits))),a=s("tr",{},s("th",{scope:"col",rowspan:r>1?2:1},"lane"),...o);if(r===1)return s("thead",{},a);let d=o.flatMap(()=>Array.from({length:r},(u,i)=>s("th",{scope:"col"},B(i,r,e.bits))));return s("thead",{},a,s("tr",{},...d))}function pe(t,e,n,r){let o=t.held(e),a=t.needed(e),d=t.wrong(e),u=n==="needed"?a:o,i=s("td",{"data-slot":e},K(u));if(u!==null){let c=r.get(_(t.matrix,u))??0;i.style.setProperty("--hue",`${c/Math.max(r.size,1)}turn`),i.classList.add(c%2===0?"even":"odd")}d&&n!=="needed"&&(i.classList.add("wrong"),n==="both"&&i.append(s("small",{},K(a)))),t.live(e)||i.classList.add("dead");let l=[`lane ${t.slot(e).lane}`,w(t.matrix,o)];return d&&l.push(`wrong, needs ${w(t.matrix,a)}`),t.live(e)||l.push("no output reads it"),i.title=l.join(", "),i.setAttribute("aria-label",l.slice(1).join(", ")),i}var K=t=>t===null?"\xB7":`${t.row},${t.col}`;function me(t,e,n){let[r,o,a]=e.axes,d=o*a,u={ArrowLeft:-1,ArrowRight:1,ArrowUp:-d,ArrowDown:d}[n.key],i=n.target.closest("td");if(u===void 0||i?.dataset.slot===void 0)return;n.preventDefault();let l=Number(i.dataset.slot)+u;l>=0&&l<r*d&&t.set({slot:e.slot(l)})}function ge(t,e,n){if(n===null||n.matrix!==e.matrix)return[e.anyWrong?s("span",{class:"bad-text"},`\u2717 ${e.countWrong} of ${e.slots} slots are wrong`):s("span",{class:"good-text"},"\u2713 every slot holds what is needed"),". Choose a slot to see where else its element is."];let r=e.flat(n),{matrix:o}=e,a=B(n.field,e.axes[2],e.bits),d=t.model.register(e.site,o,n.vgpr,e.bits)+(a&&`.${a}`),u=e.held(r),i=o==="C"?"is stored to":"holds",l=[s("b",{},`lane ${n.lane}, ${d}`),` ${i} `];l.push(s("code",{},w(o,u))),e.wrong(r)&&l.push(", needs ",s("code",{class:"good-text"},w(o,e.needed(r)))),e.live(r)||l.push(" (no output reads it)");let c=fe(e,r);c.length>0&&l.push(`; also in ${c.join(", ")}`);let p=o==="C"?e.needed(r)??u:null;if(p!==null){let g=()=>t.set({element:{...p,product:e.product}});l.push(" ",s("button",{type:"button",onclick:g},"its sum over k"))}return l}function fe(t,e){let n=t.held(e);if(n===null)return[];let r=[];for(let o=0;o<t.slots&&r.length<8;o++){let a=t.held(o);o!==e&&a?.row===n.row&&a.col===n.col&&r.push(`lane ${t.slot(o).lane}`)}return r}function be(t,e){let r=[`One colour for each ${{A:"row of A",B:"column of B",C:"row of C"}[e]}; 3,5 is ${e}[3][5]. `];return t.anyWrong&&r.push(s("span",{class:"key wrong"},"3,5")," wrong, and below what is needed. "),r.push(s("span",{class:"key dead"},"3,5")," a copy that no output reads."),r}function j(t){let{model:e}=t,n=s("select",{id:"group",onchange:()=>{let p=Number(n.value);t.set({group:p,wave:e.waves[p]?.[0]??0,slot:null})}});n.append(...e.data.moments.groups.map((p,g)=>s("option",{value:g},e.groupName(g))));let r=s("div",{class:"choices",role:"group","aria-label":"wave"}),o=s("input",{type:"range",id:"step",min:0,step:1,oninput:()=>t.set({step:Number(o.value),slot:null})}),a=p=>()=>t.set({step:t.state.step+p,slot:null}),d=s("button",{type:"button",onclick:a(-1),"aria-label":"one step back"},"\u25C0"),u=s("button",{type:"button",onclick:a(1),"aria-label":"one step on"},"\u25B6"),i=s("button",{type:"button",id:"next-wrong",onclick:()=>W(t)},"next wrong"),l=s("p",{class:"says","aria-live":"polite"});t.watch(()=>{let{group:p,wave:g,step:h}=t.state;n.value=String(p),r.replaceChildren(...(e.waves[p]??[]).map(m=>{let f=e.steps(p,m).some(re=>re.wrong),b=()=>t.set({wave:m,slot:null}),v=S(String(m),m===g,b,f?`wave ${m}: wrong operands`:`wave ${m}`);return v.classList.toggle("bad",f),v})),o.max=String(Math.max(t.steps.length-1,0)),o.value=String(h),d.disabled=h===0,u.disabled=h>=t.steps.length-1;let y=t.step;o.setAttribute("aria-valuetext",y?he(t,y):"nothing was executed"),l.replaceChildren(...y?ye(t,y):["no matrix instruction was executed"]),i.disabled=t.nextWrong()===void 0});let c=e.data.moments.leftOut;return s("section",{class:"moment","aria-label":"moment"},s("label",{for:"group"},"workgroup"),n,c>0&&s("small",{},`${c} more are left out: --workgroup X,Y,Z`),s("span",{class:"label"},"wave"),r,s("div",{class:"slide"},d,s("label",{for:"step",class:"hidden"},"step"),o,u,i),l)}function W(t){let e=t.nextWrong(),n=["A","B","C"].find(r=>e?.operands[r]?.anyWrong);e!==void 0&&t.goto(e,{slot:null,...n&&{matrix:n}})}function he(t,e){let n=t.model.site(e.site);return`matrix instruction ${e.site}, ${n?.title??""}, execution ${e.iteration}`}function ye(t,e){let n=t.model.site(e.site),o=Object.entries(e.operands).filter(([,a])=>a.anyWrong).map(([a,d])=>`${a}: ${d.countWrong} of ${d.slots} slots`);return[s("b",{},`step ${t.state.step+1} of ${t.steps.length}`),` matrix instruction ${e.site}, `,s("code",{},n?.title??""),`, execution ${e.iteration} `,o.length>0?s("span",{class:"bad-text"},`\u2717 wrong: ${o.join("; ")}`):s("span",{class:"good-text"},"\u2713 operands are right")]}var I=[[",","one step back",t=>t.set({step:t.state.step-1,slot:null})],[".","one step on",t=>t.set({step:t.state.step+1,slot:null})],["n","next wrong operand",W],["[","wave before",t=>D(t,-1)],["]","next wave",t=>D(t,1)],["a","operand A",t=>t.set({matrix:"A",slot:null})],["b","operand B",t=>t.set({matrix:"B",slot:null})],["c","operand C",t=>t.set({matrix:"C",slot:null})]];function D(t,e){let n=t.model.waves[t.state.group]??[],r=n[n.indexOf(t.state.wave)+e];r!==void 0&&t.set({wave:r,slot:null})}function G(t){document.addEventListener("keydown",e=>{let n=e.target;if(e.ctrlKey||e.metaKey||e.altKey||n.matches("input:not([type=range]), select, textarea"))return;let r=I.find(([o])=>o===e.key);r!==void 0&&(e.preventDefault(),r[2](t))})}function U(){let t=I.flatMap(([n,r])=>[s("dt",{},s("kbd",{},n)),s("dd",{},r)]),e=[s("dt",{},s("kbd",{},"arrows")),s("dd",{},"slots of an operand, elements of the map")];return s("details",{class:"keys"},s("summary",{},"Keys"),s("dl",{},...t,...e))}function q(t){let[e,n]=t.axes,r=N(t.wrong,e*n);return{rows:e,cols:n,rowsEach:t.rows,observed:O(t.observed),expected:O(t.expected),wrong:r,undefined:N(t.undefined,e*n),count:r.reduce((o,a)=>o+a,0)}}function Y(t){let e=t.expected.reduce((n,r)=>Number.isFinite(r)?Math.max(n,Math.abs(r)):n,0);return t.wrong.length===0?new Float32Array:Float32Array.from(t.wrong,(n,r)=>{if(n===0)return 0;let a=Math.abs((t.observed[r]??0)-(t.expected[r]??0))/(e||1),d=Number.isFinite(a)?Math.log10(Math.max(a,1e-4)):0;return .3+.7*Math.max(0,Math.min(1,1+d/4))})}function M(t,e){for(let n=1;n<=t.wrong.length;n++){let r=(e+n)%t.wrong.length;if(t.wrong[r])return r}return-1}function k(t){return t===void 0?"":String(Number(t.toPrecision(7)))}function X(t,e,n){let r=s("div",{class:"element","aria-live":"polite"}),o;return t.watch(()=>{let{element:a}=t.state;if(a===o&&r.childElementCount)return;if(o=a,a===null){r.replaceChildren(s("p",{class:"hint"},"No element is chosen."));return}let d=(a.product*n.rowsEach+a.row)*n.cols+a.col,u=n.undefined[d]?"undefined bits":k(n.observed[d]),i=!!n.wrong[d],l=t.model.makers(a,a.product),c=n.rows>n.rowsEach?`, product ${a.product}`:"";r.replaceChildren(s("h3",{},w(e,a)+c),s("p",{},"holds ",s("code",{class:i?"bad-text":"good-text"},u),i&&", should be ",i&&s("code",{class:"good-text"},k(n.expected[d]))),...l.length>0?l.flatMap(p=>xe(t,p,a)):[s("p",{},we(t))])}),r}function we(t){return t.model.data.moments.leftOut>0?"No accumulator of the workgroups in this page is stored there: --workgroup X,Y,Z shows another one.":"No accumulator is stored there."}function xe(t,e,n){let{slot:r,steps:o,belongs:a}=e,d=o[0];if(d===void 0)return[];let u=t.model.register(d.site,"C",r.vgpr,d.operands.C?.bits??32),i=`workgroup ${t.model.groupName(d.group)}, wave ${d.wave}, lane ${r.lane}, ${u}`,c=s("p",{},"made by ",s("button",{type:"button",class:"link",onclick:()=>t.goto(d,{matrix:"C",slot:r})},i));a!==null&&(a.row!==n.row||a.col!==n.col)&&c.append(s("span",{class:"bad-text"},` \u2717 which is ${w("C",a)}, stored to the wrong place`));let p=t.model.contributions(e,n),g=t.model.data.moments.shapes.A[1],h=p.filter(({right:b})=>!b).length,y=g-new Set(p.map(({k:b})=>b)).size,m=[`${p.length} products over k`,h>0?`${h} of wrong elements`:"all of the right elements",y>0?`${y} k are missing`:""],f=a??n;return[c,s("p",{class:h+y>0?"bad-text":"good-text"},m.filter(Boolean).join(", ")),ve(t,p,f),$("its products as a table",["k","A","B","step",""],()=>p.map(b=>[String(b.k),w("A",b.heldA),w("B",b.heldB),`instruction ${b.step.site}, execution ${b.step.iteration}`,b.right?"right":`wrong: needs A[${f.row}][${b.k}] and B[${b.k}][${f.col}]`]))]}function ve(t,e,n){let r=e.map(o=>{let d=[["A",o.heldA,{row:n.row,col:o.k}],["B",o.heldB,{row:o.k,col:n.col}]].find(([,c,p])=>c?.row!==p.row||c.col!==p.col)?.[0],u=`k ${o.k}: ${w("A",o.heldA)} * ${w("B",o.heldB)}`,i=o.right||d===void 0?"A":d,l=i==="A"?o.a:o.b;return s("button",{type:"button",class:o.right?"right":"wrong",title:u,"aria-label":`${u}${o.right?"":", wrong"}`,onclick:()=>t.goto(o.step,{matrix:i,slot:l})},String(o.k))});return s("div",{class:"strip",role:"group","aria-label":"products over k"},...r)}var ke=560,H=400;function Z(t){let{output:e,noOutput:n}=t.model.data,r=s("h2",{},`Output ${e?.name??""}`),o=s("section",{class:"output panel","aria-label":"output"},s("header",{},r));if(e===null)return o.append(s("p",{},`Values are not shown: ${n}`)),o;let a=q(e),d=Se(t,e.name,a),u=M(a,-1);u>=0&&t.set({element:J(a,u)});let i=`${a.count} of ${a.rows*a.cols} elements are wrong`;return o.append(s("p",{class:"says"},a.count>0?s("span",{class:"bad-text"},`\u2717 ${i}`):s("span",{class:"good-text"},"\u2713 every element is right")," on small integers. Choose one to see what it was made of."),s("div",{class:"beside"},d,X(t,e.name,a)),$(`wrong elements as a table${a.count>H?`, the first ${H}`:""}`,["element","held","expected"],function*(){for(let l=M(a,-1),c=0;l>=0&&c<Math.min(a.count,H);c++){let p=`${e.name}[${Math.floor(l/a.cols)}][${l%a.cols}]`,g=a.undefined[l]?"undefined":k(a.observed[l]);yield[p,g,k(a.expected[l])],l=M(a,l)}})),o}function J(t,e){let n=Math.floor(e/t.cols);return{row:n%t.rowsEach,col:e%t.cols,product:Math.floor(n/t.rowsEach)}}function Se(t,e,n){let{rows:r,cols:o}=n,a=Math.max(1,Math.floor(ke/Math.max(r,o))),d=s("canvas",{width:o*a,height:r*a,tabindex:0,role:"img","aria-label":`map of ${e}: ${n.count} wrong elements; arrow keys choose one`}),u=(m,f)=>{let[b,v]=[Math.max(0,Math.min(m,r-1)),Math.max(0,Math.min(f,o-1))];t.set({element:J(n,b*o+v)})},i=()=>{let m=t.state.element;return m===null?[0,0]:[m.product*n.rowsEach+m.row,m.col]};d.addEventListener("click",m=>{let f=d.getBoundingClientRect();u(Math.floor((m.clientY-f.top)/f.height*r),Math.floor((m.clientX-f.left)/f.width*o))}),d.addEventListener("keydown",m=>{let f={ArrowLeft:[0,-1],ArrowRight:[0,1],ArrowUp:[-1,0],ArrowDown:[1,0]}[m.key];f!==void 0&&(m.preventDefault(),u(i()[0]+(f[0]??0),i()[1]+(f[1]??0)))});let l=(m,f)=>s("input",{type:"number",min:0,max:f,value:0,"aria-label":m}),c=l(`row of ${e}`,r-1),p=l(`column of ${e}`,o-1);for(let m of[c,p])m.addEventListener("change",()=>u(Number(c.value),Number(p.value)));let g=s("button",{type:"button",disabled:n.count===0,onclick:()=>{let m=t.state.element===null?-1:i()[0]*o+i()[1],f=M(n,m);u(Math.floor(f/o),f%o)}},"next wrong element"),h=Y(n),y=()=>{Me(d,n,h,a,t.state.element===null?null:i()),t.state.element!==null&&([c.value,p.value]=i().map(String))};return t.watch(y),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",y),s("div",{class:"map"},d,s("div",{class:"choose"},s("span",{},e),"[",c,"][",p,"]",g),s("p",{class:"legend"},s("span",{class:"swatch right"})," right ",s("span",{class:"swatch hot"})," off, the redder the further ",s("span",{class:"swatch unsure"})," undefined"))}function Me(t,e,n,r,o){let a=t.getContext("2d");if(a===null)return;let d=getComputedStyle(t),u=g=>d.getPropertyValue(`--${g}`).trim();a.fillStyle=u("good-bg"),a.fillRect(0,0,t.width,t.height);let[i,l]=[u("bad"),u("unsure")];for(let g=0;g<n.length;g++)e.wrong[g]&&(a.globalAlpha=e.undefined[g]?1:n[g]??0,a.fillStyle=e.undefined[g]?l:i,a.fillRect(g%e.cols*r,Math.floor(g/e.cols)*r,r,r));if(a.globalAlpha=1,o===null)return;let[c,p]=o.map(g=>g*r);a.strokeStyle=u("ink"),a.lineWidth=2,a.strokeRect(p-2,c-2,r+4,r+4)}var Q=`.layoutprobe h2 {
  margin: 0;
}
.layoutprobe button,
.layoutprobe select,
.layoutprobe input[type="number"] {
  font: inherit;
  font-size: 0.87rem;
  color: var(--ink);
  background: var(--paper);
  border: 1px solid var(--line);
  border-radius: 6px;
  padding: 0.15rem 0.55rem;
  min-height: 1.9rem;
  cursor: pointer;
}
.layoutprobe button:hover:not(:disabled),
.layoutprobe select:hover {
  background: var(--shade);
}
.layoutprobe button:disabled {
  color: var(--off);
  cursor: default;
}
.layoutprobe button[aria-pressed="true"] {
  background: var(--ink);
  border-color: var(--ink);
  color: var(--paper);
}
.layoutprobe button.bad::after {
  content: "";
  display: inline-block;
  width: 0.45em;
  height: 0.45em;
  margin-left: 0.35em;
  border-radius: 50%;
  background: var(--bad);
  vertical-align: middle;
}
.layoutprobe :focus-visible {
  outline: 2px solid var(--copy);
  outline-offset: 1px;
}
.layoutprobe button.link {
  border: 0;
  padding: 0;
  min-height: 0;
  color: var(--copy);
  background: none;
  text-decoration: underline;
  text-align: left;
  font-size: inherit;
}
.layoutprobe .bad-text {
  color: var(--bad);
  font-weight: 600;
}
.layoutprobe .good-text {
  color: var(--good);
}
.layoutprobe .hidden {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
}
.layoutprobe .choices {
  display: inline-flex;
  flex-wrap: wrap;
}
.layoutprobe .choices button {
  border-radius: 0;
  margin-left: -1px;
}
.layoutprobe .choices button:first-child {
  border-radius: 6px 0 0 6px;
  margin-left: 0;
}
.layoutprobe .choices button:last-child {
  border-radius: 0 6px 6px 0;
}
.layoutprobe .choices button:only-child {
  border-radius: 6px;
}

.layoutprobe .findings {
  margin: 0 0 1rem;
}
.layoutprobe .findings .card {
  margin: 0 0 0.75rem;
  padding-bottom: 0.6rem;
}
.layoutprobe .findings .go {
  display: flex;
  gap: 0.5rem;
  flex-wrap: wrap;
}
.layoutprobe .findings details {
  border: 0;
  margin: 0;
}
.layoutprobe .findings summary {
  background: none;
  padding: 0;
  color: var(--soft);
  font-size: 0.87rem;
  display: list-item;
  list-style: inside disclosure-closed;
}
.layoutprobe .findings details[open] summary {
  list-style-type: disclosure-open;
}

.layoutprobe .moment {
  position: sticky;
  top: 0;
  z-index: 3;
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.45rem 0.7rem;
  margin: 0 0 1rem;
  padding: 0.6rem 0.9rem;
  border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--shade);
}
.layoutprobe .moment label,
.layoutprobe .moment .label {
  color: var(--soft);
  font-size: 0.87rem;
}
.layoutprobe .slide {
  display: flex;
  gap: 0.45rem;
  flex: 1 1 22rem;
  align-items: center;
}
.layoutprobe .slide input {
  flex: 1;
  min-width: 6rem;
  accent-color: var(--copy);
}
.layoutprobe .says {
  margin: 0;
  flex-basis: 100%;
  font-size: 0.9rem;
  overflow-wrap: anywhere;
  min-height: 1.5em;
}

.layoutprobe .columns {
  display: grid;
  grid-template-columns: minmax(0, 11fr) minmax(0, 9fr);
  gap: 1rem;
  align-items: start;
}
.layoutprobe .panel {
  scroll-margin-top: 6rem;
  border: 1px solid var(--line);
  border-radius: 8px;
  padding: 0.8rem 0.9rem;
  margin: 0 0 1rem;
  min-width: 0;
}
.layoutprobe .panel > header {
  display: flex;
  flex-wrap: wrap;
  gap: 0.4rem 0.7rem;
  align-items: center;
  margin-bottom: 0.5rem;
}
.layoutprobe .panel > header h2 {
  flex: 1 1 auto;
}
.layoutprobe .panel .scroll {
  margin: 0;
}
.layoutprobe .legend {
  margin: 0.6rem 0 0;
  color: var(--soft);
  font-size: 0.83rem;
  line-height: 1.9;
}

.layoutprobe .fragment table {
  width: 100%;
  border-collapse: separate;
  border-spacing: 2px;
  table-layout: fixed;
  min-width: 44rem;
  font-variant-numeric: tabular-nums;
}
.layoutprobe .fragment th {
  border: 0;
  padding: 0 0.15rem;
  font-size: 0.75rem;
  font-weight: 500;
  color: var(--soft);
  background: none;
  text-align: center;
}
.layoutprobe .fragment thead tr:first-child th {
  color: var(--ink);
  font-weight: 600;
}
.layoutprobe .fragment th:first-child {
  width: 2.2rem;
  min-width: 0;
  text-align: right;
}
.layoutprobe .fragment td {
  border: 0;
  border-radius: 3px;
  padding: 0;
  height: 1.35rem;
  font-size: 0.7rem;
  line-height: 1.15;
  white-space: nowrap;
  cursor: pointer;
}
.layoutprobe .fragment td.even {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-even));
}
.layoutprobe .fragment td.odd {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-odd));
}
.layoutprobe .fragment td.wrong,
.layoutprobe .key.wrong {
  background: color-mix(in srgb, var(--bad) 30%, var(--paper));
  box-shadow: inset 0 0 0 1.5px var(--bad);
  color: var(--wrong);
  font-weight: 700;
  padding: 0.1rem 0;
}
.layoutprobe .fragment td.wrong small {
  display: block;
  color: var(--right);
  font-weight: 600;
  font-size: 1em;
}
.layoutprobe .fragment td.dead,
.layoutprobe .key.dead {
  background-image: repeating-linear-gradient(
    135deg,
    transparent 0 3px,
    color-mix(in srgb, var(--ink) 16%, transparent) 3px 4px
  );
  color: var(--soft);
}
.layoutprobe .fragment td.same {
  outline: 2px solid var(--copy);
  outline-offset: -1px;
}
.layoutprobe .fragment td.chosen {
  outline: 3px solid var(--ink);
  outline-offset: -1px;
}
.layoutprobe .key {
  display: inline-block;
  border-radius: 3px;
  padding: 0 0.4rem;
  line-height: 1.35;
}

.layoutprobe .source .code {
  max-height: 48rem;
  overflow: auto;
  border: 1px solid var(--line);
  border-radius: 6px;
  position: relative;
}
.layoutprobe .line {
  display: grid;
  grid-template-columns: 2.8rem 1.5rem minmax(0, 1fr);
  align-items: start;
}
.layoutprobe .long .line {
  content-visibility: auto;
  contain-intrinsic-height: auto 1.35rem;
}
.layoutprobe .line .number {
  color: var(--off);
  font-size: 0.75rem;
  text-align: right;
  padding-right: 0.3rem;
  line-height: 1.35rem;
  user-select: none;
}
.layoutprobe .line code {
  white-space: pre-wrap;
  overflow-wrap: anywhere;
  line-height: 1.35rem;
  font-size: 0.8rem;
}
.layoutprobe .line .note {
  grid-column: 3;
  margin: 0 0.4rem 0.3rem 0;
  color: var(--bad);
  font-size: 0.8rem;
  overflow-wrap: anywhere;
}
.layoutprobe .line.related .note {
  color: var(--unsure);
}
.layoutprobe .line.finding {
  background: var(--bad-bg);
  box-shadow: inset 3px 0 var(--bad);
}
.layoutprobe .line.related {
  background: var(--unsure-bg);
  box-shadow: inset 3px 0 var(--unsure);
}
.layoutprobe .line.now {
  box-shadow: inset 3px 0 var(--copy);
}
.layoutprobe .line.now .number {
  color: var(--ink);
  font-weight: 700;
}
.layoutprobe .line .mark {
  text-align: center;
  line-height: 1.35rem;
}
.layoutprobe .line button.mark {
  border: 0;
  background: none;
  padding: 0;
  min-height: 0;
}
.layoutprobe .mark.finding {
  color: var(--bad);
  font-weight: 700;
}
.layoutprobe .mark.related {
  color: var(--unsure);
  font-weight: 700;
}
.layoutprobe .mark.site {
  color: var(--copy);
}

.layoutprobe .beside {
  display: grid;
  grid-template-columns: minmax(0, auto) minmax(18rem, 1fr);
  gap: 1.2rem;
  align-items: start;
  margin-top: 0.5rem;
}
.layoutprobe canvas {
  max-width: 100%;
  height: auto;
  display: block;
  border: 1px solid var(--line);
  border-radius: 4px;
  image-rendering: pixelated;
  cursor: crosshair;
}
.layoutprobe .choose {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.2rem;
  margin-top: 0.5rem;
  font-size: 0.9rem;
}
.layoutprobe .choose input {
  width: 5rem;
}
.layoutprobe .choose button {
  margin-left: 0.6rem;
}
.layoutprobe .swatch {
  display: inline-block;
  width: 0.9em;
  height: 0.9em;
  border-radius: 3px;
  vertical-align: -0.1em;
  border: 1px solid var(--line);
}
.layoutprobe .swatch.right {
  background: var(--good-bg);
}
.layoutprobe .swatch.hot {
  background: linear-gradient(90deg, color-mix(in srgb, var(--bad) 30%, transparent), var(--bad));
}
.layoutprobe .swatch.unsure {
  background: var(--unsure);
}
.layoutprobe .element h3 {
  margin-top: 0;
  font-family: ui-monospace, monospace;
}
.layoutprobe .element p {
  margin: 0.3rem 0;
  overflow-wrap: anywhere;
}
.layoutprobe .element .hint {
  color: var(--soft);
}
.layoutprobe .strip {
  display: flex;
  flex-wrap: wrap;
  gap: 2px;
  margin: 0.4rem 0;
  max-height: 15rem;
  overflow-y: auto;
}
.layoutprobe .strip button {
  min-height: 1.5rem;
  min-width: 1.9rem;
  padding: 0 0.2rem;
  font-size: 0.72rem;
  border: 0;
  border-radius: 3px;
}
.layoutprobe .strip .right {
  background: var(--good-bg);
  color: var(--right);
}
.layoutprobe .strip .wrong {
  background: color-mix(in srgb, var(--bad) 30%, var(--paper));
  color: var(--wrong);
  font-weight: 700;
  box-shadow: inset 0 0 0 1.5px var(--bad);
}
.layoutprobe details.behind {
  border: 0;
  margin: 0.6rem 0 0;
}
.layoutprobe details.behind summary,
.layoutprobe .keys summary {
  background: none;
  padding: 0;
  color: var(--soft);
  font-size: 0.87rem;
  display: list-item;
  list-style: inside disclosure-closed;
}
.layoutprobe details.behind[open] summary {
  list-style-type: disclosure-open;
}
.layoutprobe details.behind .scroll {
  max-height: 24rem;
  overflow: auto;
}
.layoutprobe .keys {
  border: 0;
}
.layoutprobe kbd {
  font:
    0.85em ui-monospace,
    monospace;
  border: 1px solid var(--line);
  border-radius: 4px;
  padding: 0 0.35em;
}

@media (max-width: 1080px) {
  .layoutprobe .columns {
    grid-template-columns: minmax(0, 1fr);
  }
}
@media (max-width: 640px) {
  .layoutprobe .moment {
    position: static;
  }
  .layoutprobe .beside {
    grid-template-columns: minmax(0, 1fr);
  }
  .layoutprobe .source .code {
    max-height: 26rem;
  }
  .layoutprobe .fragment {
    max-height: 30rem;
    overflow: auto;
  }
  .layoutprobe .fragment th:first-child {
    position: sticky;
    left: 0;
    background: var(--paper);
    z-index: 1;
  }
}
@media (pointer: coarse) {
  .layoutprobe button,
  .layoutprobe select {
    min-height: 2.4rem;
  }
}
`;var Ee=3e3;function te(t){let{model:e}=t,{sources:n}=e.data,r=Ae(t),o=s("div",{class:"code",tabindex:0,role:"region","aria-label":"lines of the source"}),a=s("select",{"aria-label":"file",onchange:()=>t.set({line:{file:a.value,line:1}})});a.append(...n.map(({file:i})=>s("option",{value:i},i)));let d="",u="";return t.watch(()=>{let i=t.state.line??Oe(t)??Ne(t),l=i?.file??n[0]?.file??"";if(l!==d){d=l,a.value=l;let p=Ce(t,l,r);o.classList.toggle("long",p.length>Ee),o.replaceChildren(...p)}for(let p of o.querySelectorAll(".now"))p.classList.remove("now");for(let p of Te(t,l))o.querySelector(`[data-line="${p}"]`)?.classList.add("now");let c=`${l}:${i?.line}`;if(c!==u){u=c;let p=o.querySelector(`[data-line="${i?.line}"]`);p!==null&&(o.scrollTop=p.offsetTop-o.clientHeight/3)}}),n.length===0?s("section",{class:"source panel","aria-label":"source"},s("h2",{},"Source"),s("p",{},"The kernel came as a code object, or without debug information (-g): there is no source to show.")):s("section",{class:"source panel","aria-label":"source"},s("header",{},s("h2",{},"Source"),a),o,s("p",{class:"legend"},s("span",{class:"mark finding"},"\u2717")," a finding ",s("span",{class:"mark related"},"\u25CB")," on the way of the wrong value ",s("span",{class:"mark site"},"\u25C6")," a matrix instruction. Choose a marked line to go there."))}var ee=t=>`${t.file}:${t.line}`;function R(t){return t.near?[]:[t,...t.inlined_at??[]]}function Ae(t){let e=new Map,n=r=>{let o=e.get(ee(r))??{sites:[],findings:[],related:[]};return e.set(ee(r),o),o};for(let r of t.model.data.sites)for(let o of R(r.place))n(o).sites.push(r.number);for(let r of t.model.data.findings){r.place.file!==void 0&&n(r.place).findings.push(r.what);for(let{title:o,place:a}of r.related)a.file!==void 0&&!a.near&&n(a).related.push(o)}return e}function Ce(t,e,n){return(t.model.data.sources.find(o=>o.file===e)?.lines??[]).map(([o,a])=>{let d=n.get(`${e}:${o}`),u=s("div",{class:"line","data-line":o},s("span",{class:"number"},String(o)),Le(t,d,e,o),s("code",{},a||" "));return d?.findings.length?(u.classList.add("finding"),u.append(...[...new Set(d.findings)].map(i=>s("p",{class:"note"},`\u2717 ${i}`)))):d?.related.length&&(u.classList.add("related"),u.append(s("p",{class:"note"},[...new Set(d.related)].join("; ")))),u})}function Le(t,e,n,r){if(e===void 0)return s("span",{class:"mark"});let[o,a]=e.findings.length?["\u2717","finding"]:e.related.length?["\u25CB","related"]:["\u25C6","site"],d=[...e.findings,...e.related,...e.sites.map(l=>`matrix instruction ${l}`)],u=()=>{let l=t.steps.find(c=>e.sites.includes(c.site));l===void 0?t.set({line:{file:n,line:r}}):t.goto(l,{line:{file:n,line:r},slot:null})},i={type:"button",class:`mark ${a}`,title:d.join(`
`),onclick:u};return s("button",{...i,"aria-label":`line ${r}: ${d.join("; ")}`},o)}function Oe(t){for(let{place:e}of t.model.data.findings)if(e.file!==void 0&&e.line!==void 0&&!e.near)return{file:e.file,line:e.line};return null}function Ne(t){let e=t.model.site(t.step?.site??-1),n=new Set(t.model.data.sources.map(({file:a})=>a)),o=[...e===void 0?[]:R(e.place)].reverse().find(({file:a})=>a!==void 0&&n.has(a));return o?.file!==void 0&&o.line!==void 0?{file:o.file,line:o.line}:null}function Te(t,e){let n=t.model.site(t.step?.site??-1);return(n===void 0?[]:R(n.place)).flatMap(o=>o.file===e&&o.line!==void 0?[o.line]:[])}var C=class{constructor(e,n){this.model=e;this.now=n}model;now;views=[];waiting=!0;get state(){return this.now}get steps(){return this.model.steps(this.now.group,this.now.wave)}get step(){return this.steps[this.now.step]}watch(e){this.views.push(e)}start(){this.waiting=!1;for(let e of this.views)e()}set(e){let n={...this.now,...e},r=this.model.steps(n.group,n.wave);this.now={...n,step:Math.max(0,Math.min(n.step,r.length-1))},!this.waiting&&(this.waiting=!0,requestAnimationFrame(()=>{this.waiting=!1;for(let o of this.views)o()}))}goto(e,n={}){let r=this.model.steps(e.group,e.wave).indexOf(e);this.set({group:e.group,wave:e.wave,step:Math.max(r,0),...n})}nextWrong(){let e=[...this.model.every].flat(),n=this.step===void 0?-1:e.indexOf(this.step);return[...e.slice(n+1),...e.slice(0,n+1)].find(o=>o.wrong)}};function ne(t){let{opened:e}=t.data,n=[...t.every].flat(),r=e.group===null?-1:t.groupNumber(e.group),o=c=>(r<0||c.group===r)&&(e.wave===null||c.wave===e.wave)&&(e.site===null||c.site===e.site)&&(e.iteration===null||c.iteration===e.iteration),a=n.filter(o),u=a.find(c=>e.matrix!==null&&c.operands[e.matrix]?.anyWrong)??a.find(c=>c.wrong)??a[0]??n[0],i=["A","B","C"].find(c=>u?.operands[c]?.anyWrong),l=u===void 0?0:t.steps(u.group,u.wave).indexOf(u);return{group:u?.group??0,wave:u?.wave??0,step:l,matrix:e.matrix??i??"A",shown:"both",slot:null,element:null,line:null}}function Be(){let t=document.getElementById("kernel"),e=document.getElementById("layoutprobe-data")?.textContent;if(t===null||!e)return;let n=JSON.parse(e);if(n.schema!==L){t.append(s("p",{},`This page's data is ${n.schema}, and its script reads ${L}.`));return}let r=new A(n),o=new C(r,ne(r));t.append(s("style",{},Q),z(o),j(o),s("div",{class:"columns"},P(o),te(o)),Z(o),U()),o.start(),G(o)}Be();})();
